"""Text from a file: open it, find wrong labels and near-duplicates, and keep half of what is left, with proof.

Any table with a column of strings will do: CSV, TSV, JSONL, parquet, a data frame, or a list of strings.
"""

import csv
from pathlib import Path

import numpy as np

import winnow as wn

# Reviews made from a few words, so that nothing needs to be downloaded.
rng = np.random.default_rng(0)
words = {
    "good": ["lovely", "moving", "clever", "superb", "fresh"],
    "bad": ["dull", "clumsy", "tedious", "bland", "stale"],
}
things = ["film", "plot", "cast", "score", "script", "camera", "ending", "hero"]


def review(label: str) -> str:
    """One sentence about two things and a scene."""
    first, second = rng.choice(things, 2, replace=False)
    one, two = rng.choice(words[label], 2, replace=False)
    scene = " ".join(f"{''.join(rng.choice(list('aeioulmnrst'), 5))}" for _ in range(5))
    return f"The {first} is {one} and the {second} {two}; remember {scene}?"


labels = ["good", "bad"] * 200
texts = [review(label) for label in labels]

# Ten labels are turned, and ten reviews are there twice, the second time with one word changed.
wrong = ["bad" if label == "good" else "good" for label in labels[:10]]
copies = [text.replace(" is ", " was ", 1) for text in texts[10:20]]
with Path("reviews.csv").open("w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "review", "label"])
    writer.writerows(zip(range(400), texts, wrong + labels[10:], strict=True))
    writer.writerows(zip(range(400, 410), copies, labels[10:20], strict=True))

recipe = wn.Recipe(epochs=8, batch=32, lr=0.01)
source = wn.open("reviews.csv")
print(source, source.texts([0])[0])

issues = wn.check(source, recipe=recipe, kinds=("label", "duplicate"), out="checked")  # look at checked/check.html
suspects = set(issues.of("label")["id"][:10])
print(f"of the 10 labels most likely wrong, {len(suspects & set(range(10)))} were turned")
print(f"near-duplicates flagged: {issues.of('duplicate')['flagged'].sum()} of 10 planted")

clean = source.take(issues.clean().ids)
# Kept at random, because these reviews are too easy for a score to tell them apart; look at pruned/report.html.
proof = wn.prune_with_proof(clean, keep=0.5, method="random", recipe=recipe, seeds=2, out="pruned")
print(proof.study.table())
