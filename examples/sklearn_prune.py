"""Prune for a scikit-learn estimator, with rows that belong together and classes of different sizes."""

import numpy as np
from sklearn.linear_model import LogisticRegression

import winnow as wn

rng = np.random.default_rng(0)
patient = np.repeat(np.arange(150), 6)  # six visits each
habit = rng.normal(size=(150, 5))[patient]
X = habit + 0.5 * rng.normal(size=(900, 5))
y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=900) > 1.3, "ill", "well")  # about one in eight

source = wn.open((X, y), group=patient)  # the visits of a patient are never on both sides of a split
proof = wn.prune_with_proof(
    source, keep=0.3, model=LogisticRegression(), metric="balanced_accuracy", engine=wn.Local(workers=1)
)

print(f"ill: {np.mean(y == 'ill'):.0%} of {len(source)} visits; {proof.held_out} were held out")
print(proof.study.summary())
print(proof.study.verdict(proof.name).sentence)
