"""k-means: spherical, for prototypes and for clusters in place of classes; ordinary, for medoids.

Centroids are initialised by k-means++ on a sample, or for medoids by random rows if there are many, and refined by
faiss, on one thread. Spherical k-means scales rows to unit length and is repeated from several starts, and the tightest
clustering wins: a single start often splits one class and merges two others. Where there are many rows, the starts
compete on a sample, and the winner is refined on all rows: that costs about as much as one start. All draws are keyed
by id. A table of more than half a gigabyte, such as embeddings that are mapped, is refined by passes over blocks of it
instead, and never copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.scratch_rows import let_go
from ..core.seeds import drawn_first, number, uniforms

__all__ = [
    "DEFAULT_CLUSTERS",
    "centroids",
    "cosines",
    "nearest_centroid",
    "passed_over",
    "spherical_centroids",
    "starting_rows",
    "unit_rows",
]

DEFAULT_CLUSTERS = 10  # used if there are no classes
SAMPLE = 100  # rows per centroid in the sample for k-means++
TRIAL = 256  # rows per centroid in the sample on which starts compete
SPREAD = 32  # centroids up to which ordinary k-means starts from k-means++
ROUNDS = 50
LAST_ROUNDS = 20  # on all rows, from what the sample gave
STARTS = 8
HELD = 512 << 20  # bytes of a table of unit rows that is held in memory
PASSES = 8  # over a table that is not
BLOCK = 2_048  # rows scaled and compared at a time, so that they stay in the processor's cache
PAGES = 64  # blocks after which the pages of a mapped table are let go


def unit_rows(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale rows to length one; a row of zeros stays zero, with cosine 0 to everything."""
    rows = points.reshape(points.shape[0], -1).astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    if not ((squares > 1e-200) & (squares < 1e200)).all():  # rare: scale first, so that squares keep their digits
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows /= np.where(largest > 0, largest, 1.0)
        squares = np.einsum("ij,ij->i", rows, rows)
    length = np.sqrt(squares)[:, None]
    rows /= np.where(length > 0, length, 1.0)
    return rows


def _unit_table(points: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows of unit length in single precision, as faiss wants them."""
    out = np.empty((points.shape[0], math.prod(points.shape[1:])), dtype=np.float32)
    for start in range(0, len(out), BLOCK):
        out[start : start + BLOCK] = unit_rows(points[start : start + BLOCK])
    return out


def starting_rows(
    rows: NDArray[np.floating], k: int, ids: NDArray[Any], seed: int, start: int = 0
) -> NDArray[np.int64]:
    """Return the positions of k initial centroids, by k-means++ on a sample of the rows.

    Drawing in proportion to a weight is a race: each row waits an exponential time at a rate of its weight, and the
    first to arrive is drawn. The others have waited a part of their time, and race on at their new rates. Exponential
    times have no memory, so one random number per id is enough for all draws.
    """
    sample = np.sort(drawn_first(seed, ("k-means", start, "sample"), ids, max(k, SAMPLE * k)))
    rows, waiting = rows[sample].astype(np.float64), -np.log(uniforms(seed, ("k-means", start), ids[sample]))
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
    count = checks.integer("k", owner, k, low=1, high=len(points))
    if 4 * points.size > HELD and len(points) > TRIAL * count:
        some = np.sort(drawn_first(seed, ("k-means", "trial"), ids, TRIAL * count))
        trial = _unit_table(points[some])
        let_go(points)
        return passed_over(points, _tightest(trial, count, seed, ids[some]))
    unit = _unit_table(points)
    if len(unit) <= TRIAL * count:
        return _tightest(unit, count, seed, ids)
    some = np.sort(drawn_first(seed, ("k-means", "trial"), ids, TRIAL * count))
    start = _tightest(unit[some], count, seed, ids[some]).astype(np.float32)
    return unit_rows(_refined(unit, start, seed, LAST_ROUNDS, spherical=True))


def passed_over(points: NDArray[np.floating], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refine unit centroids by passes over blocks of the points; a cluster that lost all its points stays."""
    found = start
    for _ in range(PASSES):
        sums = np.zeros_like(found)
        for rows in map(unit_rows, _blocks(points)):
            nearest = (rows @ found.T).argmax(axis=1)
            sums += (nearest == np.arange(len(found))[:, None]).astype(np.float64) @ rows
        lost = ~sums.any(axis=1, keepdims=True)
        moved = unit_rows(np.where(lost, found, sums))
        if np.array_equal(moved, found):
            break
        found = moved
    return found


def _tightest(unit: NDArray[np.float32], k: int, seed: int, ids: NDArray[Any]) -> NDArray[np.float64]:
    """The tightest of the clusterings from several starts."""
    tightest, found = -np.inf, unit[:k].astype(np.float64)
    for number_of_start in range(STARTS if k > 1 else 1):
        start = unit[starting_rows(unit, k, ids, seed, number_of_start)]
        refined = unit_rows(_refined(unit, start, seed, ROUNDS, spherical=True))
        tightness = float(cosines(unit, refined).sum())
        if tightness > tightest:
            tightest, found = tightness, refined
    return found


def centroids(points: NDArray[np.float64], k: int, seed: int, ids: NDArray[Any], rounds: int) -> NDArray[np.float64]:
    """Return k centroids of the points themselves (k x d), by k-means from one start.

    Few centroids start from k-means++, which finds every clump. Many start from random rows: k-means++ would put too
    many of them where rows are rare.
    """
    if k <= SPREAD:
        chosen = starting_rows(points, k, ids, seed)
    else:
        chosen = np.sort(drawn_first(seed, ("k-means", 0), ids, k))
    return _refined(points.astype(np.float32), points[chosen].astype(np.float32), seed, rounds, spherical=False)


def _refined(
    table: NDArray[np.float32], start: NDArray[np.float32], seed: int, rounds: int, *, spherical: bool
) -> NDArray[np.float64]:
    """Run k-means from these centroids."""
    import faiss

    (n, d), k = table.shape, len(start)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # sums in a fixed order
    try:
        machine = faiss.Kmeans(
            d,
            k,
            niter=rounds,
            spherical=spherical,
            verbose=False,
            seed=number(seed, "k-means", k) % 2**31,
            min_points_per_centroid=1,
            max_points_per_centroid=n,
        )
        machine.train(np.ascontiguousarray(table), init_centroids=np.ascontiguousarray(start))
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
    for number_of_block, rows in enumerate(_blocks(points)):
        part = slice(number_of_block * BLOCK, number_of_block * BLOCK + len(rows))
        similarity = unit_rows(rows) @ centroids.T
        which[part] = chosen = similarity.argmax(axis=1)
        best[part] = np.take_along_axis(similarity, chosen[:, None], 1)[:, 0]
    return which, best


def _blocks(points: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
    """Yield some rows at a time; pages of a map are let go."""
    for start in range(0, len(points), BLOCK):
        if start % (PAGES * BLOCK) == 0:
            let_go(points)
        yield points[start : start + BLOCK]
    let_go(points)
