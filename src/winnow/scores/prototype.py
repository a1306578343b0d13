"""Prototype: the distance of an example from the nearest typical one. Needs no labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..signals.clusters import DEFAULT_CLUSTERS, cosines, spherical_centroids

__all__ = ["prototype"]


@registry.score(
    needs={"embeddings"},
    paper="Sorscher et al. 2022",
    tasks=registry.ALL_TASKS,
    cost=registry.Cost("n classes", memory=9),
)
def prototype(signals: Signals, *, k: int | None = None, seed: int = 0) -> NDArray[np.float64]:
    """Cosine distance to the nearest k-means centroid.

    1 - max over centroids c of cos(embedding, c), centroids by spherical k-means over all examples. Any k within
    a factor of ten of the number of classes gives similar results; k = 1 reverses the order.

    Parameters
    ----------
    signals
        Must have `embeddings`.
    k
        The number of centroids; None uses the number of classes, or 10 (at most the number of examples) if there are
        none.
    seed
        Seed of the initial centroids.
    """
    if k is None:
        k = len(signals.classes) if signals.task == "classification" else DEFAULT_CLUSTERS
        k = max(1, min(k or DEFAULT_CLUSTERS, len(signals)))
    centroids = spherical_centroids(signals.embeddings, k, seed, "score 'prototype'", signals.ids)
    return np.maximum(1.0 - cosines(signals.embeddings, centroids), 0.0)
