"""An index of embeddings: rows by id, compared with all others or in clusters, with its recall on a sample."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from ..core.seeds import drawn_first, number

__all__ = ["BLOCK", "EmbeddingIndex", "number_table"]

Rows = NDArray[np.float32]

SAMPLE = 1_000  # rows searched exactly to certify the recall
SURENESS = 2.326  # the 99 % quantile of the normal distribution: the bound holds with 99 %
PER_CENTROID = 64  # rows per cluster that k-means is trained on
ROUNDS = 8
SPARE = 2  # neighbours looked up beyond k, so that rounding in faiss cannot change the k nearest
BLOCK = 8_192  # rows at a time


class EmbeddingIndex:
    """Rows in the order of their ids, centred, in an index of faiss."""

    def __init__(self, points: ArrayLike, ids: ArrayLike | None, seed: int, owner: str) -> None:
        self.rows = number_table("points", owner, points)
        self.size = len(self.rows)
        self.ids = np.arange(self.size) if ids is None else np.asarray(ids)
        if self.ids.shape != (self.size,):
            raise InputError(f"ids of {owner} must have {self.size} entries; got shape {self.ids.shape}.")
        self.order = np.argsort(self.ids, kind="stable")
        self.faiss: Any = None
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
        self.quantiser.add(np.asarray(machine.centroids))
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


def number_table(name: str, owner: str, value: ArrayLike, width: int | None = None) -> NDArray[Any]:
    """A table of numbers; a memory map stays one."""
    out = np.asanyarray(value)
    if out.ndim != 2 or out.dtype.kind not in "biuf" or out.size == 0:
        raise InputError(f"{name} of {owner} must be a table of numbers; got {out.dtype} of shape {out.shape}.")
    if width is not None and out.shape[1] != width:
        raise InputError(f"{name} of {owner} must have {width} columns; got {out.shape[1]}.")
    return out
