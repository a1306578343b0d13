"""A head from Signals: scaled embeddings, a column of ones, and a regularised head trained on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fit_head import FittedHead, fitted
from .heads import Floats, Head
from .vectors import Influence, vectors_of

__all__ = ["head_features", "observed_head", "observed_vectors"]


def head_features(embeddings: NDArray[Any]) -> Floats:
    """Scale embeddings to columns of mean 0 and deviation 1 (constant columns become 0), and add a column of ones."""
    rows = embeddings.reshape(len(embeddings), -1).astype(np.float64)
    largest = np.abs(rows).max(axis=0)
    rows /= np.where(largest > 0, largest, 1.0)  # so that squares do not overflow
    rows -= rows.mean(axis=0)
    spread = rows.std(axis=0)
    rows /= np.where(spread > 1e-12, spread, np.inf)
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def observed_head(
    features: Floats, labels: NDArray[Any], task: str, classes: int, damping: float
) -> tuple[Head, FittedHead]:
    """Fit a softmax head, or a least-squares head for regression, to its optimum."""
    if task == "classification":
        loss, given, outputs = "softmax", labels.astype(np.int64), max(2, classes, int(labels.max()) + 1)
    else:
        given = labels.reshape(len(labels), -1).astype(np.float64)
        loss, outputs = "squared", given.shape[1]
    found = fitted(features, given, damping, loss, np.zeros((features.shape[1], outputs)))
    return Head(features, found.outputs, given, damping, loss), found


def observed_vectors(
    embeddings: NDArray[Any], labels: NDArray[Any], task: str, classes: int, damping: float
) -> tuple[Influence, FittedHead]:
    """Return the influence vectors of the head, and the head."""
    head, found = observed_head(head_features(embeddings), labels, task, classes, damping)
    return vectors_of(head), found
