"""Moderate: keep examples that are neither typical nor unusual."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import registry
from ..signals.clusters import DEFAULT_CLUSTERS, nearest_centroid, spherical_centroids
from .pool import Choice, Pool

__all__ = ["moderate"]


@registry.selector(needs={"embeddings"}, paper="Xia et al. 2023 (Moderate)", cost=registry.Cost("n", memory=9))
def moderate(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Keep the examples whose distance to their class's centre is closest to the median of those distances.

    With d_i = || x_i - mean of its class ||, keeps the smallest |d_i - median of d over its class|. Without class
    labels, ten clusters replace the classes.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Seed of the clusters, if there are no classes.
    """
    points = pool.points
    group = _groups(pool, seed)
    offset, farthest = np.empty(pool.n), 0.0
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        inside = points[members]
        distance = np.sqrt(np.square(inside - inside.mean(axis=0)).sum(axis=1))
        offset[members] = np.abs(distance - np.median(distance))
        farthest = max(farthest, float(distance.max()))
    # in a class of even size the two middle examples are equally far from the median: rounding must not decide
    near = np.round(offset / (farthest or 1.0), 12)
    return Choice(np.argsort(near, kind="stable")[:size])


def _groups(pool: Pool, seed: int) -> NDArray[np.int64]:
    if pool.labels is not None and pool.labelled:
        return np.asarray(pool.labels, dtype=np.int64)
    embeddings = pool.observed.embeddings
    k = min(DEFAULT_CLUSTERS, pool.n)
    centroids = spherical_centroids(embeddings, k, seed, "selector 'moderate'", pool.ids)
    return nearest_centroid(embeddings, centroids)
