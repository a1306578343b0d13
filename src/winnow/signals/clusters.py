"""k-means: spherical, for prototypes and for clusters in place of classes; ordinary, for medoids.

Centroids are initialised by k-means++ on a sample and refined by faiss, on one thread. Spherical k-means scales rows to
unit length and is repeated from several starts, and the tightest clustering wins: a single start often splits one class
and merges two others. All draws are keyed by id.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.seeds import drawn_first, number, uniforms

__all__ = [
    "DEFAULT_CLUSTERS",
    "centroids",
    "cosines",
    "nearest_centroid",
    "spherical_centroids",
    "starting_rows",
    "unit_rows",
]

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


def starting_rows(rows: NDArray[np.float64], k: int, ids: NDArray[Any], seed: int, start: int = 0) -> NDArray[np.int64]:
    """Return the positions of k initial centroids, by k-means++ on a sample of the rows.

    Drawing in proportion to a weight is a race: each row waits an exponential time at a rate of its weight, and the
    first to arrive is drawn. The others have waited a part of their time, and race on at their new rates. Exponential
    times have no memory, so one random number per id is enough for all draws.
    """
    sample = np.sort(drawn_first(seed, ("k-means", start, "sample"), ids, max(k, SAMPLE * k)))
    rows, waiting = rows[sample], -np.log(uniforms(seed, ("k-means", start), ids[sample]))
    chosen: list[int] = []
    gap = np.full(sample.size, np.inf)
    rates = np.ones(sample.size)
    for _ in range(k):
        if not rates.any():  # fewer distinct rows than centroids: any other row will do
            rates[np.setdiff1d(np.arange(sample.size), chosen)] = 1.0
        arrival = np.divide(waiting, rates, out=np.full(sample.size, np.inf), where=rates > 0)
        chosen.append(int(arrival.argmin()))
        waiting = np.maximum(waiting - rates * arrival[chosen[-1]], 0.0)
        gap = np.minimum(gap, np.square(rows - rows[chosen[-1]]).sum(axis=1))
        gap[chosen[-1]] = 0.0
        rates = gap.copy()
    return np.asarray(sample[chosen], dtype=np.int64)


def spherical_centroids(
    points: NDArray[np.floating], k: int, seed: int, owner: str, ids: NDArray[Any]
) -> NDArray[np.float64]:
    """Return k centroids of the directions of the points, as unit rows (k x d)."""
    unit = unit_rows(points)
    count = checks.integer("k", owner, k, low=1, high=unit.shape[0])
    tightest, found = -np.inf, unit[:count]
    for start in range(STARTS if count > 1 else 1):
        refined = unit_rows(_refined(unit, starting_rows(unit, count, ids, seed, start), seed, ROUNDS, spherical=True))
        tightness = float(cosines(unit, refined).sum())
        if tightness > tightest:
            tightest, found = tightness, refined
    return found


def centroids(points: NDArray[np.float64], k: int, seed: int, ids: NDArray[Any], rounds: int) -> NDArray[np.float64]:
    """Return k centroids of the points themselves (k x d), by k-means from one start."""
    return _refined(points, starting_rows(points, k, ids, seed), seed, rounds, spherical=False)


def _refined(
    rows: NDArray[np.float64], start: NDArray[np.int64], seed: int, rounds: int, *, spherical: bool
) -> NDArray[np.float64]:
    """Run k-means from the rows at these positions."""
    import faiss

    n, d = rows.shape
    table = np.ascontiguousarray(rows, dtype=np.float32)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # sums in a fixed order
    try:
        machine = faiss.Kmeans(
            d,
            start.size,
            niter=rounds,
            spherical=spherical,
            verbose=False,
            seed=number(seed, "k-means", start.size) % 2**31,
            min_points_per_centroid=1,
            max_points_per_centroid=n,
        )
        machine.train(table, init_centroids=np.ascontiguousarray(table[start]))
    finally:
        faiss.omp_set_num_threads(threads)
    return np.asarray(machine.centroids, dtype=np.float64)


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
