"""Small problems that the tests of this room share."""

from __future__ import annotations

import numpy as np

import winnow as wn


def softmax_problem(n=300, q=5, classes=3, damping=0.01, seed=0):
    """Features with a column of ones, labels, and the head at its optimum."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    centres = rng.normal(size=(classes, q - 1))
    features = np.hstack([centres[labels] + rng.normal(size=(n, q - 1)), np.ones((n, 1))])
    return features, labels, wn.influence.fit_head(features, labels, damping, classes=classes)


def digits(n=1797, dims=20, seed=0):
    """Principal components of eight by eight digits, with a column of ones."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    some = np.random.default_rng(seed).permutation(len(x))[:n]
    x = x[some] / 16 - (x / 16).mean(axis=0)
    x = x @ np.linalg.eigh(x.T @ x)[1][:, : -dims - 1 : -1]
    return np.hstack([x, np.ones((n, 1))]), y[some]


def retrained(features, labels, damping, removed, start=None, convention="1/(n-m)", loss="softmax", classes=None):
    """Theta after training on what is left."""
    kept = np.setdiff1d(np.arange(len(features)), removed)
    strength = damping if convention == "1/(n-m)" else damping * len(features) / kept.size
    return wn.influence.fit_head(features[kept], labels[kept], strength, start=start, loss=loss, classes=classes).theta
