"""The paper's ways to find points that lie close together: k-means rounds, and the tightest cluster first.

Algorithm 1 does not specify the clusters. Theorem 4 is proved for the greedy choice: of all clusters with one point
more than there are moments take the tightest, remove one point, repeat. The paper's experiments use k-means clusters
while there are many points and are greedy near the end (appendix C). Both are here for comparison, on nearest
neighbours from a kd-tree; "the tightest" is sought among the neighbourhoods of points, several disjoint ones per sweep.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ...core import seeds
from ...core.progress import task
from .cells import Merged

__all__ = ["Reduce", "greedily", "in_rounds_of_kmeans"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
# (weights, members, quota) -> those kept and their weights
Reduce = Callable[[Array, Index, int], tuple[Index, Array]]

_ROOMY = 2  # clusters of k-means hold this many times the points that stay
_NEAR = 1.1  # k-means stops at this many times the requested size
_STEPS = 10  # of Lloyd's iteration


def in_rounds_of_kmeans(data: Merged, size: int, moments: int, seed: int, reduce: Reduce) -> tuple[Index, Array]:
    """Rounds of k-means, every cluster reduced to as many points as moments; greedy from 1.1 times the size on."""
    x, weights = data.places, data.weights.copy()
    alive = np.arange(len(weights))
    near = max(size, int(_NEAR * size))
    turn = 0
    while len(alive) > near:
        clusters = max(1, len(alive) // (_ROOMY * moments))
        labels = _kmeans(x[alive], clusters, seeds.stream(seed, "moments", "kmeans", turn))
        order = np.argsort(labels, kind="stable")
        groups = np.split(alive[order], np.cumsum(np.bincount(labels, minlength=clusters))[:-1])
        before = len(alive)
        left = before
        for group in groups:
            quota = max(moments, len(group) - (left - near))
            if len(group) > quota and left > near:
                kept, fresh = reduce(weights, group, quota)
                weights[group] = 0.0
                weights[kept] = fresh
                left -= len(group) - len(kept)
        alive = np.flatnonzero(weights)
        turn += 1
        if len(alive) == before:
            break
    return _tightest_first(x, weights, alive, size, moments, reduce)


def greedily(data: Merged, size: int, moments: int, reduce: Reduce) -> tuple[Index, Array]:
    """Remove one point at a time from the tightest cluster."""
    x = data.places
    return _tightest_first(x, data.weights.copy(), np.arange(len(x)), size, moments, reduce)


def _tightest_first(
    x: Array, weights: Array, alive: Index, size: int, moments: int, reduce: Reduce
) -> tuple[Index, Array]:
    with task("greedy compression", len(alive) - size) as advance:
        while len(alive) > size:
            before = len(alive)
            near, neighbours = cKDTree(x[alive]).query(x[alive], k=moments + 1)
            gone = np.zeros(before, bool)
            touched = np.zeros(before, bool)
            for one in np.argsort(near[:, -1], kind="stable"):
                if before - gone.sum() <= size:
                    break
                group = neighbours[one]
                if touched[group].any():
                    continue
                touched[group] = True
                kept, fresh = reduce(weights, alive[group], moments)
                weights[alive[group]] = 0.0
                weights[kept] = fresh
                gone[group] = weights[alive[group]] == 0.0
            alive = alive[~gone]
            advance(before - len(alive))
    return alive, weights[alive]


def _kmeans(x: Array, clusters: int, generator: np.random.Generator) -> Index:
    """Lloyd's iteration from random points; a kd-tree finds the nearest centre."""

    centres = x[generator.choice(len(x), clusters, replace=False)]
    labels = np.zeros(len(x), np.int64)
    for _ in range(_STEPS):
        labels = cKDTree(centres).query(x)[1]
        counts = np.bincount(labels, minlength=clusters)
        sums = np.stack([np.bincount(labels, column, minlength=clusters) for column in x.T], axis=1)
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return labels
