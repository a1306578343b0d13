"""Several labels per example: digits that are even, large or drawn with a loop, with a few labels flipped."""

import numpy as np
from sklearn.datasets import load_digits

import winnow as wn

X, digit = load_digits(return_X_y=True)
rows = np.stack([digit % 2 == 0, digit > 4, np.isin(digit, (0, 6, 8, 9))], axis=1)  # n x 3, true or false
names = ["even", "large", "loop"]

flipped = np.random.default_rng(0).random((900, 3)) < 0.03
given = np.where(flipped, ~rows[:900], rows[:900])
train = wn.open((X[:900], given), classes=names, name="digits")
test = wn.open((X[900:], rows[900:]), classes=names, name="digits-test")
print(train, train.labels.sum(axis=0), "\n")

how = {"model": "mlp", "recipe": wn.Recipe(epochs=20), "engine": wn.Local(workers=1)}  # too small for more workers
issues = wn.check(train, kinds=("label",), **how)
print(issues.summary(), "\n")
columns = ("id", "probability", "label", "suggestion")
for row in issues.table(limit=5):
    print({name: row[name] for name in columns})
found = issues.of("label")
right = flipped.any(axis=1)[train.positions(found["id"][found["flagged"]])]
print(f"{right.sum()} of {len(right)} flagged examples have a flipped label, of {flipped.any(axis=1).sum()} that do\n")

subset = wn.prune(train, keep=0.4, **how)
print(f"kept {len(subset)}: {subset.certificate['why']}")
print(f"examples kept per label: {subset.certificate['label_counts']}\n")

study = wn.evaluate(train, {"pruned": subset}, test=test, seeds=3, **how)
print(study.summary())
