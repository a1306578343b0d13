"""Use a subset with scikit-learn: positions into your arrays, and weights for the fit."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import winnow as wn

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)

source = wn.open((X, y))
subset = wn.prune(source, keep=0.3, model="mlp", recipe=wn.Recipe(epochs=15))
where = subset.indices(source)  # positions in X, in the order of subset.ids and subset.weights


def accuracy(rows, weights=None):
    model = LogisticRegression(max_iter=2000).fit(X[rows] / 16, y[rows], sample_weight=weights)
    return model.score(X_test / 16, y_test)


rng = np.random.default_rng(0)
random = [accuracy(rng.choice(len(X), len(where), replace=False)) for _ in range(5)]
print(f"everything, {len(X)} rows: {accuracy(np.arange(len(X))):.4f}")
print(f"subset, {len(where)} rows: {accuracy(where, subset.weights):.4f}")
print(f"random, {len(where)} rows: {np.mean(random):.4f}, from {min(random):.4f} to {max(random):.4f} over 5 draws")
