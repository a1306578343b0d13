"""An index of embeddings: rows by id, compared with all others or in clusters, with its recall on a sample."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.frozen_arrays import in_order, order_of
from ..core.errors import InputError
from ..core.scratch_rows import let_go, rows_at
from ..core.seeds import drawn_first, number
from .row_cells import BLOCK, RowCells, rows_to_draw

__all__ = ["EmbeddingIndex", "number_table"]

Rows = NDArray[np.float32]

SAMPLE = 1_000  # rows searched exactly to certify the recall
SURENESS = 2.326  # the 99 % quantile of the normal distribution: the bound holds with 99 %
STEP = 1.2  # by how much the number of probes grows at a time
SPARE = 2  # neighbours looked up beyond k, so that rounding in faiss cannot change the k nearest
LET_GO = 32 << 20  # bytes that are read between two times at which pages of a map are let go


class EmbeddingIndex:
    """Rows in the order of their ids, centred: all in an index of faiss, or in cells."""

    def __init__(self, points: ArrayLike, ids: ArrayLike | None, seed: int, owner: str) -> None:
        self.rows = number_table("points", owner, points)
        self.size = len(self.rows)
        self.ids = np.arange(self.size) if ids is None else np.asarray(ids)
        if self.ids.shape != (self.size,):
            raise InputError(f"ids of {owner} must have {self.size} entries; got shape {self.ids.shape}.")
        self.order = order_of(self.ids)
        self.faiss: Any = None
        self.cells: RowCells | None = None
        self.seed, self.probes, self.bound = seed, 0, 1.0
        self.measured: dict[int, float] = {}
        self._read = 0
        total, most = np.zeros(self.rows.shape[1]), 0.0
        for start in range(0, self.size, BLOCK):
            part = np.asarray(self._given(slice(start, start + BLOCK)), dtype=np.float64)
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

    def part(self, block: slice | NDArray[np.int64]) -> Rows:
        """Rows of a block, or at places, in the order of ids."""
        return self.centred(self._given(block))

    def _given(self, block: slice | NDArray[np.int64]) -> NDArray[Any]:
        """The same as they were given; pages of a map are let go now and then."""
        if self.order is not None:
            return rows_at(self.rows, self.order[block])
        if not isinstance(block, slice):
            return rows_at(self.rows, block)
        found = np.array(self.rows[block])
        self._read += found.nbytes
        if self._read >= LET_GO:
            let_go(self.rows)
            self._read = 0
        return found

    def at(self, places: NDArray[np.int64]) -> Rows:
        """Rows at places in the order of ids."""
        out = np.empty((len(places), self.rows.shape[1]), dtype=np.float32)
        for start in range(0, len(places), BLOCK):
            out[start : start + BLOCK] = self.part(places[start : start + BLOCK])
        return out

    def positions(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of places in the order of ids."""
        return places if self.order is None else self.order[places]

    def _drawn(self, name: str, count: int) -> NDArray[np.int64]:
        """Places of rows drawn by id, ascending."""
        return np.sort(drawn_first(self.seed, ("neighbours", name), in_order(self.ids, self.order), count))

    def fill(self) -> None:
        """Make an exact index."""
        import faiss

        self.faiss = faiss.IndexFlatL2(self.rows.shape[1])
        largest = 0.0
        for start in range(0, self.size, BLOCK):
            part = self.part(slice(start, start + BLOCK))
            largest = max(largest, float(np.square(part).sum(axis=1).max()))
            self.faiss.add(part)
        self.slack = 1e-5 * largest  # what rounding may add to a squared distance

    def cluster(self) -> None:
        """Put the rows into cells."""
        drawn = self._drawn("clusters", rows_to_draw(self.size))
        self.cells = RowCells(self.part, self.size, lambda: self.at(drawn), number(self.seed, "neighbours") % 2**31)

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Rows]]:
        """All rows with their places, a block at a time: those of a cell together, or in the order of ids."""
        if self.cells is not None:
            yield from self.cells.blocks()
            return
        for start in range(0, self.size, BLOCK):
            rows = self.part(slice(start, start + BLOCK))
            yield np.arange(start, start + len(rows)), rows

    def certify(self, k: int, wanted: float, closer: float | None = None) -> None:
        """Raise the number of probes until the bound of the recall on a sample is high enough."""
        assert self.cells is not None
        chosen = self._drawn("recall", SAMPLE)
        rows = self.at(chosen)
        nearest, apart = self.cells.search(rows, k, chosen, self.cells.count)
        reach = apart[:, -1]
        moved = rows if closer is None else np.float32(1 - closer) * rows + np.float32(closer) * self.at(nearest[:, -1])
        probes = 1
        while True:
            self.probes = min(probes, self.cells.count)
            if closer is None:
                _, apart = self.search(rows, k, chosen)
                share = (apart <= reach[:, None]).mean(axis=1)
            else:
                found, apart = self.search(moved, k, None)
                to_itself = np.sqrt(np.square(moved - rows).sum(axis=1))
                # among copies, any of them will do
                share = ((found == chosen[:, None]) | (apart[:, -1:] <= to_itself[:, None])).any(axis=1)
            self.measured[self.probes] = float(share.mean())
            self.bound = _lower(share, k if closer is None else 1)
            if self.bound >= wanted or self.probes == self.cells.count:
                break
            probes = math.ceil(STEP * probes)
        if self.probes == self.cells.count:
            self.bound = 1.0

    def search(self, rows: Rows, k: int, own: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], Rows]:
        """Places (in the order of ids) and distances of the k nearest, without the rows' own places if given."""
        if self.cells is None:
            return self._compared(rows, k, own)
        found, apart = self.cells.search(rows, k, own, self.probes)
        short = np.flatnonzero(found[:, -1] < 0)
        if short.size:  # the cells hold fewer rows: search all of them
            mine = None if own is None else own[short]
            found[short], apart[short] = self.cells.search(rows[short], k, mine, self.cells.count)
        return found, apart

    def _compared(self, rows: Rows, k: int, own: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], Rows]:
        """The same by comparing with all rows."""
        wide = min(k + SPARE + (own is not None), self.size)
        _, found = self.faiss.search(rows, wide)
        apart = np.empty(found.shape, dtype=np.float32)
        for column in range(wide):
            apart[:, column] = np.sqrt(np.square(rows - self.at(found[:, column])).sum(axis=1))
        if own is not None:
            apart[found == own[:, None]] = np.inf
        nearest_first = np.lexsort((found, apart), axis=1)[:, :k]
        return np.take_along_axis(found, nearest_first, 1), np.take_along_axis(apart, nearest_first, 1)


def _lower(shares: NDArray[Any], k: int) -> float:
    """Wilson's lower bound of the mean of shares, each of k neighbours.

    Unless the neighbours of a row are missed together, shares vary less than coins, and the sample counts for more.
    """
    share, spread = float(np.mean(shares)), float(np.var(shares, ddof=1))
    count = shares.size * min(share * (1 - share) / spread, k) if spread > 0 else shares.size
    z = SURENESS**2 / count
    return (share + z / 2 - math.sqrt(z * share * (1 - share) + z**2 / 4)) / (1 + z)


def number_table(name: str, owner: str, value: ArrayLike, width: int | None = None) -> NDArray[Any]:
    """A table of numbers; a memory map stays one."""
    out = np.asanyarray(value)
    if out.ndim != 2 or out.dtype.kind not in "biuf" or out.size == 0:
        raise InputError(f"{name} of {owner} must be a table of numbers; got {out.dtype} of shape {out.shape}.")
    if width is not None and out.shape[1] != width:
        raise InputError(f"{name} of {owner} must have {width} columns; got {out.shape[1]}.")
    return out
