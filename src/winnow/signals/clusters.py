"""Spherical k-means, for prototypes and for clusters in place of classes.

Rows are scaled to unit length. Centroids are initialised by k-means++ on a seeded sample and refined by faiss. This is
repeated from several starts, and the tightest clustering wins: a single start often splits one class and merges two
others. The same rows, order and seed give the same centroids, whatever the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.seeds import number, stream

__all__ = ["DEFAULT_CLUSTERS", "cosines", "nearest_centroid", "spherical_centroids", "starting_rows", "unit_rows"]

DEFAULT_CLUSTERS = 10  # used if there are no classes
SAMPLE = 100  # rows per centroid in the sample for k-means++
ROUNDS = 50
STARTS = 8
BLOCK = 65_536  # rows compared with the centroids at a time


def unit_rows(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale rows to length one; a row of zeros stays zero, with cosine 0 to everything."""
    rows = points.reshape(points.shape[0], -1).astype(np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0, largest, 1.0)  # so that squaring neither overflows nor vanishes
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    rows /= np.where(length > 0, length, 1.0)
    return rows


def starting_rows(unit: NDArray[np.float64], k: int, seed: int, start: int = 0) -> NDArray[np.int64]:
    """Return the positions of k initial centroids, by k-means++ on a seeded sample of the rows."""
    rng = stream(seed, "k-means", k, start)
    n = unit.shape[0]
    sample = rng.permutation(n)[: max(k, min(n, SAMPLE * k))]
    rows = unit[sample]
    chosen = [int(rng.integers(sample.size))]
    gap = np.full(sample.size, np.inf)
    for _ in range(k - 1):
        gap = np.minimum(gap, np.square(rows - rows[chosen[-1]]).sum(axis=1))
        gap[chosen] = 0.0
        total = gap.sum()
        if total > 0:
            draw = int(np.searchsorted(np.cumsum(gap), rng.random() * total, side="right"))
            chosen.append(min(draw, int(np.flatnonzero(gap > 0)[-1])))
        else:  # fewer distinct rows than centroids: any other row will do
            chosen.append(int(np.setdiff1d(np.arange(sample.size), chosen)[0]))
    return np.asarray(sample[chosen], dtype=np.int64)


def spherical_centroids(points: NDArray[np.floating], k: int, seed: int, owner: str) -> NDArray[np.float64]:
    """Return k centroids of the directions of the points, as unit rows (k x d)."""
    import faiss

    unit = unit_rows(points)
    count = checks.integer("k", owner, k, low=1, high=unit.shape[0])
    rows = unit.astype(np.float32)
    tightest, found = -np.inf, unit[:count]
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # sums in a fixed order
    try:
        for start in range(STARTS if count > 1 else 1):
            machine = faiss.Kmeans(
                unit.shape[1],
                count,
                niter=ROUNDS,
                spherical=True,
                verbose=False,
                seed=number(seed, "k-means", count, start) % 2**31,
                min_points_per_centroid=1,
                max_points_per_centroid=max(1, unit.shape[0]),
            )
            machine.train(rows, init_centroids=np.ascontiguousarray(rows[starting_rows(unit, count, seed, start)]))
            centroids = unit_rows(np.asarray(machine.centroids, dtype=np.float64))
            tightness = float(cosines(unit, centroids).sum())
            if tightness > tightest:
                tightest, found = tightness, centroids
    finally:
        faiss.omp_set_num_threads(threads)
    return found


def cosines(points: NDArray[np.floating], centroids: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine between each point and its nearest centroid."""
    return _nearest(points, centroids)[1]


def nearest_centroid(points: NDArray[np.floating], centroids: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the centroid nearest in direction to each point."""
    return _nearest(points, centroids)[0]


def _nearest(
    points: NDArray[np.floating], centroids: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    which = np.empty(points.shape[0], dtype=np.int64)
    best = np.empty(points.shape[0])
    for start in range(0, points.shape[0], BLOCK):
        stop = start + BLOCK
        similarity = unit_rows(points[start:stop]) @ centroids.T
        which[start:stop] = similarity.argmax(axis=1)
        best[start:stop] = similarity.max(axis=1)
    return which, best
