"""Text from a file: open it, find wrong labels and near-duplicates, and keep half of what is left, with proof.

Any table with a column of strings will do: CSV, TSV, JSONL, parquet, a data frame, or a list of strings.
"""

import csv
from pathlib import Path

import numpy as np

import winnow as wn

rng = np.random.default_rng(0)
words = {"good": ["lovely", "moving", "clever", "superb"], "bad": ["dull", "clumsy", "tedious", "bland"]}
things = ["film", "plot", "cast", "score", "script", "camera", "ending", "hero"]
labels, texts = ["good", "bad"] * 200, []
for label in labels:  # reviews made from a few words, so that nothing needs to be downloaded
    (first, second), (one, two) = rng.choice(things, 2, replace=False), rng.choice(words[label], 2, replace=False)
    scene = " ".join("".join(rng.choice(list("aeioulmnrst"), 5)) for _ in range(5))
    texts.append(f"The {first} is {one} and the {second} {two}; remember {scene}?")

# Ten labels are turned, and ten reviews are there twice, the second time with one word changed.
wrong = ["bad" if label == "good" else "good" for label in labels[:10]]
copies = [text.replace(" is ", " was ", 1) for text in texts[10:20]]
with Path("reviews.csv").open("w", newline="") as file:
    given = zip(range(410), texts + copies, wrong + labels[10:] + labels[10:20], strict=True)
    csv.writer(file).writerows([("id", "review", "label"), *given])

recipe, source = wn.Recipe(epochs=8, batch=32, lr=0.01), wn.open("reviews.csv")
issues = wn.check(source, recipe=recipe, kinds=("label", "duplicate"), out="checked")  # look at checked/check.html
suspects = set(issues.of("label")["id"][:10])
print(f"of the 10 labels most likely wrong, {len(suspects & set(range(10)))} were turned")
print(f"near-duplicates flagged: {issues.of('duplicate')['flagged'].sum()} of 10 planted")

clean = source.take(issues.clean().ids)  # these reviews are too easy for a score to tell them apart, hence random
proof = wn.prune_with_proof(clean, keep=0.5, method="random", recipe=recipe, seeds=2, out="pruned")
print(proof.study.table())
