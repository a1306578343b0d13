"""Nearest neighbours of embeddings, exact for small sets, and with a certified recall for large ones.

Up to `EXACT` rows every row is compared with every other one. Above, rows are put into clusters (an inverted file of
faiss) and a row is compared with those of a few clusters, the probes. Searching the own cluster alone would miss many
neighbours, so a sample of rows, drawn by id, is also searched exactly, and the number of probes doubles until the lower
confidence bound of the recall is at least .99. In many dimensions that takes most of the clusters. Whoever needs only
those neighbours that are much closer than usual, such as copies, can ask for that (`closer`), which takes a few.

Rows are worked on in the order of their ids, so the order in which they are given plays no part. Distances of what was
found are computed anew from the differences, because faiss subtracts large numbers: copies have distance 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.progress import task
from ..core.seeds import drawn_first, number

__all__ = ["EXACT", "Neighbours", "nearest", "within"]

Rows = NDArray[np.float32]

EXACT = 50_000  # rows up to which every pair is compared
RECALL = 0.99
SAMPLE = 1_000  # rows searched exactly to certify the recall
SURENESS = 2.326  # the 99 % quantile of the normal distribution: the bound holds with 99 %
BLOCK = 8_192  # rows at a time
PER_CENTROID = 64  # rows per cluster that k-means is trained on
ROUNDS = 8
SPARE = 2  # neighbours looked up beyond k, so that rounding in faiss cannot change the k nearest


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest other rows of each row.

    Parameters
    ----------
    positions
        Their positions, nearest first, ties by id: n x k.
    distances
        Euclidean distances: n x k.
    recall
        What share of the true neighbours (if `closer` was given, of those) is here, at least, with 99 % confidence; 1 if
        the search was exact.
    probes
        How many clusters were searched per row; 0 if the search was exact.
    measured
        The recall on the sample for each number of probes that was tried; the first is that of the own cluster alone.
    """

    positions: NDArray[np.int64]
    distances: NDArray[np.float32]
    recall: float = 1.0
    probes: int = 0
    measured: dict[int, float] = field(default_factory=dict)


def nearest(
    points: ArrayLike,
    k: int,
    *,
    ids: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    seed: int = 0,
    exact: int = EXACT,
    recall: float = RECALL,
    closer: float | None = None,
) -> Neighbours:
    """Find the k nearest rows of each row, leaving out the row itself.

    Parameters
    ----------
    points
        One row per example; a memory map stays on disk, apart from one float32 copy that the index holds.
    k
        How many neighbours; at most the number of other rows.
    ids
        Ids of the rows: they decide ties and the sample. Positions if not given.
    queries
        Other rows to search for among the points; the points themselves if not given, and then no row finds itself.
    seed
        Seed of the clusters and of the sample.
    exact
        Up to how many rows every pair is compared.
    recall
        The recall that is certified above that.
    closer
        If given, the recall is that of neighbours at this fraction of the distance of the k-th: each row of the sample is
        searched for from a point on the way to its k-th neighbour. If not given, that of all k neighbours.

    Returns
    -------
    Neighbours
        Positions and distances, one row per query, in the order given.

    Raises
    ------
    InputError
        If there are fewer than k other rows, or the embeddings are not finite.
    """
    owner = "nearest"
    index = _Index(points, ids, seed, owner)
    own = queries is None
    count = checks.integer("k", owner, k, low=0, high=index.size - own)
    asked = _table("queries", owner, queries, index.rows.shape[1]) if queries is not None else None
    shape = (index.size if asked is None else len(asked), count)
    if count == 0:
        return Neighbours(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32))
    if index.size > exact:
        index.cluster()
        wanted = checks.number("recall", owner, recall, low=0, high=1, open_high=True)
        near = None if closer is None else checks.number("closer", owner, closer, low=0, high=1)
        index.certify(min(count, 10), wanted, near)
    else:
        index.fill()
    positions, distances = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
    with task("neighbours", shape[0]) as advance:
        for start in range(0, shape[0], BLOCK):
            block = slice(start, min(start + BLOCK, shape[0]))
            # rows searched in the order of their ids; other queries as they come
            where = index.order[block] if asked is None else np.arange(block.start, block.stop)
            rows = index.part(block) if asked is None else index.centred(asked[block])
            found, apart = index.search(rows, count, np.arange(block.start, block.stop) if own else None)
            positions[where], distances[where] = index.order[found], apart
            advance(len(rows))
    return Neighbours(positions, distances, index.bound, index.probes, index.measured)


def within(
    points: ArrayLike, radius: float, *, ids: ArrayLike | None = None, seed: int = 0, exact: int = EXACT
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Find the pairs of rows at most a radius apart.

    Parameters
    ----------
    points, ids, seed, exact
        As in `nearest`; above `exact` rows, the clusters are those that certify the recall of ten neighbours.
    radius
        The largest distance. Every pair within it is returned, so a large one needs memory for n squared pairs.

    Returns
    -------
    tuple
        Positions of the pairs (m x 2, sorted, the smaller first) and their distances.
    """
    owner = "within"
    reach = checks.number("radius", owner, radius, low=0)
    index = _Index(points, ids, seed, owner)
    if index.size > exact:
        index.cluster()
        index.certify(min(index.size - 1, 10), RECALL)
    else:
        index.fill()
    pairs, apart = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.float32)]
    for start in range(0, index.size, BLOCK):
        rows = index.part(slice(start, start + BLOCK))
        limits, _, found = index.faiss.range_search(rows, reach**2 * (1 + 1e-3) + index.slack)
        asker = np.repeat(np.arange(len(rows)), np.diff(limits.astype(np.int64)))
        once = found > asker + start
        asker, found = asker[once], found[once]
        distance = np.sqrt(np.square(rows[asker] - index.at(found)).sum(axis=1))
        near = distance <= reach
        both = np.stack([index.order[asker[near] + start], index.order[found[near]]], axis=1)
        pairs.append(np.sort(both, axis=1))
        apart.append(distance[near])
    every, far = np.concatenate(pairs), np.concatenate(apart)
    place = np.lexsort((every[:, 1], every[:, 0]))
    return every[place], far[place]


class _Index:
    """Rows in the order of their ids, centred, in an index of faiss."""

    def __init__(self, points: ArrayLike, ids: ArrayLike | None, seed: int, owner: str) -> None:
        self.rows = _table("points", owner, points)
        self.size = len(self.rows)
        self.ids = np.arange(self.size) if ids is None else np.asarray(ids)
        if self.ids.shape != (self.size,):
            raise InputError(f"ids of {owner} must have {self.size} entries; got shape {self.ids.shape}.")
        self.order = np.argsort(self.ids, kind="stable")
        self.seed, self.probes, self.bound = seed, 0, 1.0
        self.measured: dict[int, float] = {}
        total, most = np.zeros(self.rows.shape[1]), 0.0
        for start in range(0, self.size, BLOCK):
            part = np.asarray(self.rows[self.order[start : start + BLOCK]], dtype=np.float64)
            if not np.isfinite(part).all():
                raise InputError(f"points of {owner} must be finite; some are NaN or infinite.")
            total += part.sum(axis=0)
            most = max(most, float(np.abs(part).max(initial=0.0)))
        if most > 1e15:
            raise InputError(f"points of {owner} must be below 1e15, or their squares are too large; got {most:g}.")
        self.mean = total / self.size
        self.slack = 0.0

    def centred(self, rows: NDArray[Any]) -> Rows:
        """Rows minus the mean of the points: smaller numbers are subtracted more precisely."""
        return np.ascontiguousarray(np.asarray(rows, dtype=np.float64) - self.mean, dtype=np.float32)

    def part(self, block: slice) -> Rows:
        """Rows of a block in the order of ids."""
        return self.centred(self.rows[self.order[block]])

    def at(self, places: NDArray[np.int64]) -> Rows:
        """Rows at places in the order of ids."""
        return self.centred(self.rows[self.order[places]])

    def fill(self) -> None:
        """Make an exact index."""
        import faiss

        self.faiss = faiss.IndexFlatL2(self.rows.shape[1])
        self._add()

    def cluster(self) -> None:
        """Make an index of clusters, about twice the root of the number of rows."""
        import faiss

        d = self.rows.shape[1]
        count = max(1, min(self.size // PER_CENTROID, 2 * math.isqrt(self.size)))
        sample = np.sort(drawn_first(self.seed, ("neighbours", "clusters"), self.ids[self.order], PER_CENTROID * count))
        with _one_thread():  # sums in a fixed order
            machine = faiss.Kmeans(
                d, count, niter=ROUNDS, seed=number(self.seed, "neighbours") % 2**31, verbose=False,
                min_points_per_centroid=1, max_points_per_centroid=sample.size,
            )  # fmt: skip
            machine.train(self.at(sample))
        self.quantiser = faiss.IndexFlatL2(d)
        self.quantiser.add(machine.centroids)
        self.faiss = faiss.IndexIVFFlat(self.quantiser, d, count, faiss.METRIC_L2)
        self._add()

    def _add(self) -> None:
        largest = 0.0
        for start in range(0, self.size, BLOCK):
            part = self.part(slice(start, start + BLOCK))
            largest = max(largest, float(np.square(part).sum(axis=1).max()))
            self.faiss.add(part)
        self.slack = 1e-5 * largest  # what rounding may add to a squared distance

    def certify(self, k: int, wanted: float, closer: float | None = None) -> None:
        """Raise the number of probes until the bound of the recall on a sample is high enough."""
        chosen = np.sort(drawn_first(self.seed, ("neighbours", "recall"), self.ids[self.order], SAMPLE))
        rows = self.at(chosen)
        reach, last = self._exact(rows, chosen, k)
        moved = rows if closer is None else np.float32(1 - closer) * rows + np.float32(closer) * self.at(last)
        probes = 1
        while True:
            self.faiss.nprobe = self.probes = min(probes, self.faiss.nlist)
            if closer is None:
                _, apart = self.search(rows, k, chosen)
                share = (apart <= reach[:, None] * (1 + 1e-5)).mean(axis=1)
            else:
                found, apart = self.search(moved, k, None)
                to_itself = np.sqrt(np.square(moved - rows).sum(axis=1))
                # among copies, any of them will do
                share = ((found == chosen[:, None]) | (apart[:, -1:] <= to_itself[:, None])).any(axis=1)
            self.measured[self.probes] = float(share.mean())
            self.bound = _lower(float(share.mean()), share.size)
            if self.bound >= wanted or self.probes == self.faiss.nlist:
                break
            probes *= 2
        if self.probes == self.faiss.nlist:
            self.bound = 1.0

    def _exact(self, rows: Rows, chosen: NDArray[np.int64], k: int) -> tuple[Rows, NDArray[np.int64]]:
        """Distance and place of the k-th other row, by comparing with all."""
        best = np.full((len(rows), k), np.inf, dtype=np.float32)
        places = np.zeros((len(rows), k), dtype=np.int64)
        squares = np.square(rows).sum(axis=1)
        for start in range(0, self.size, BLOCK):
            part = self.part(slice(start, start + BLOCK))
            apart = squares[:, None] + np.square(part).sum(axis=1) - 2 * rows @ part.T
            here = (chosen >= start) & (chosen < start + len(part))
            apart[np.flatnonzero(here), chosen[here] - start] = np.inf
            first = np.argpartition(apart, min(k, apart.shape[1]) - 1, axis=1)[:, :k]
            apart = np.concatenate([best, np.take_along_axis(apart, first, 1)], axis=1)
            known = np.concatenate([places, first + start], axis=1)
            order = np.argsort(apart, axis=1, kind="stable")[:, :k]
            best, places = np.take_along_axis(apart, order, 1), np.take_along_axis(known, order, 1)
        return np.sqrt(np.maximum(best[:, -1], 0.0) + self.slack), places[:, -1]

    def search(self, rows: Rows, k: int, own: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], Rows]:
        """Places (in the order of ids) and distances of the k nearest, without the rows' own places if given."""
        wide = min(k + SPARE + (own is not None), self.size)
        _, found = self.faiss.search(rows, wide)
        short = np.flatnonzero(found[:, min(wide, k + (own is not None)) - 1] < 0)
        if short.size:  # the probed clusters hold fewer rows: search all of them
            self.faiss.nprobe = self.faiss.nlist
            _, found[short] = self.faiss.search(rows[short], wide)
            self.faiss.nprobe = self.probes
        apart = np.empty(found.shape, dtype=np.float32)
        for column in range(wide):
            apart[:, column] = np.sqrt(np.square(rows - self.at(found[:, column])).sum(axis=1))
        apart[found < 0] = np.inf
        if own is not None:
            apart[found == own[:, None]] = np.inf
        nearest_first = np.lexsort((found, apart), axis=1)[:, :k]
        return np.take_along_axis(found, nearest_first, 1), np.take_along_axis(apart, nearest_first, 1)


def _table(name: str, owner: str, value: ArrayLike, width: int | None = None) -> NDArray[Any]:
    out = np.asanyarray(value)
    if out.ndim != 2 or out.dtype.kind not in "biuf" or out.size == 0:
        raise InputError(f"{name} of {owner} must be a table of numbers; got {out.dtype} of shape {out.shape}.")
    if width is not None and out.shape[1] != width:
        raise InputError(f"{name} of {owner} must have {width} columns; got {out.shape[1]}.")
    return out


def _lower(share: float, count: int) -> float:
    """Wilson's lower bound of a mean of numbers in [0, 1]: their variance is at most that of a coin."""
    z = SURENESS**2 / count
    return (share + z / 2 - math.sqrt(z * share * (1 - share) + z**2 / 4)) / (1 + z)


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
