"""Rows in cells of neighbours, in a file if they are many: each row is compared with those of the cells nearest to it.

Cells hold about `CELL` rows whatever the number of rows, and cells stand in groups, about as many as each has cells.
K-means finds the centres of the groups, and within each group those of the cells. The nearest cells of a row are looked
for in the nearest groups, and these among all groups, by the same loop that looks for rows in cells.

Nothing here promises that neighbours are found; `embedding_index` measures it, and asks for more cells until it holds.

The rows of a cell stand together in the file, one column after the other, and so do the centres of a group: distances
to all of them are computed side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.scratch_rows import SPAN, let_go, scratch_rows
from .cell_search import put_places, put_rows, search_cells

__all__ = ["RowCells", "rows_to_draw"]

Rows = NDArray[np.float32]
Whole = NDArray[np.int64]

CELL = 256  # rows
PER_CENTRE = 32  # rows per cell that k-means is trained on
ROUNDS = 8
BLOCK = 8_192  # rows at a time
ASKED = 1 << 22  # cells of all rows that are searched for at a time


def _cells_of(size: int) -> int:
    """How many cells there are for so many rows."""
    return max(1, size // CELL)


def rows_to_draw(size: int) -> int:
    """How many rows the centres are found from."""
    return min(size, PER_CENTRE * _cells_of(size))


class RowCells:
    """All rows, cell by cell.

    Parameters
    ----------
    part
        Returns the rows of a block, or those at ascending places, as float32.
    size
        The number of rows.
    sample
        Returns the rows that the centres are found from.
    seed
        Of k-means.
    """

    def __init__(self, part: Callable[[slice | Whole], Rows], size: int, sample: Callable[[], Rows], seed: int) -> None:
        self.size = size
        groups, centres = _centres(sample(), _cells_of(size), seed)
        self.width = groups.shape[1]
        self.count = sum(map(len, centres))
        self._groups = np.ascontiguousarray(groups.T).ravel()
        self._group_starts = _starts([len(some) for some in centres])
        self._centres = np.concatenate([some.T.ravel() for some in centres])
        own = np.empty(size, dtype=np.int32)
        for start in range(0, size, BLOCK):
            rows = part(slice(start, start + BLOCK))
            own[start : start + len(rows)] = self._cells(rows, 1)[:, 0]
        counts = np.bincount(own, minlength=self.count)
        self._starts = _starts(counts)
        # the places of the rows of each cell, ascending
        self._members = np.empty(size, dtype=np.int32 if size < 2**31 else np.int64)
        put_places(own, self._starts, self._members)
        self._values = scratch_rows((size * self.width,), np.float32)
        self._ends = [0]  # of the parts of the file that are in memory at a time, in cells
        while self._ends[-1] < self.count:
            self._ends.append(self._cells_within(self._ends[-1], max(1, SPAN // (4 * self.width))))
        for first, last in pairwise(self._ends):
            self._write(part, own, first, last)

    def _write(self, part: Callable[[slice | Whole], Rows], own: NDArray[np.int32], first: int, last: int) -> None:
        """Gather the rows of some cells in memory, then write them: the pages of other cells are not touched."""
        start, stop = (int(self._starts[cell]) for cell in (first, last))
        places = np.sort(self._members[start:stop])
        made = np.empty((stop - start) * self.width, dtype=np.float32)
        written = np.zeros(last - first, dtype=np.int64)
        for at in range(0, places.size, BLOCK):
            those = places[at : at + BLOCK]
            put_rows(part(those), own[those] - first, self._starts[first : last + 1] - start, written, made)
        target = self._values[start * self.width : stop * self.width]
        for at in range(0, made.size, BLOCK * self.width):
            some = slice(at, at + BLOCK * self.width)
            target[some] = made[some]
            let_go(self._values)

    def _cells_within(self, first: int, most: int) -> int:
        """The cell behind those from `first` on that hold so many rows together; one cell at least."""
        last = int(np.searchsorted(self._starts, self._starts[first] + most, "right")) - 1
        return min(self.count, max(first + 1, last))

    def blocks(self) -> Iterator[tuple[Whole, Rows]]:
        """All rows, a few cells at a time: their places and the rows."""
        first = 0
        while first < self.count:
            last = self._cells_within(first, BLOCK)
            places = self._members[self._starts[first] : self._starts[last]].astype(np.int64)
            if places.size:
                yield places, np.concatenate([self._cell(cell).T for cell in range(first, last)])
            first = last

    def _cell(self, cell: int) -> Rows:
        start, stop = int(self._starts[cell]), int(self._starts[cell + 1])
        found: Rows = self._values[start * self.width : stop * self.width].reshape(self.width, stop - start)
        return found

    def _cells(self, rows: Rows, probes: int) -> Whole:
        """The nearest cells of each row, nearest first; -1 where the nearest groups have fewer."""
        groups = self._group_starts.size - 1
        every = np.zeros((len(rows), 1), dtype=np.int64)
        near, _ = _found(rows, every, _starts([groups]), self._groups, _groups_for(probes, groups))
        return _found(rows, near, self._group_starts, self._centres, probes)[0]

    def search(self, rows: Rows, k: int, own: Whole | None, probes: int) -> tuple[Whole, Rows]:
        """Places and distances of the k nearest rows in the nearest `probes` cells; place -1 where there are fewer.

        Parameters
        ----------
        rows
            What is searched for.
        k
            How many.
        own
            The place of each, which is left out; None if they have none.
        probes
            How many cells.
        """
        if probes == self.count:
            return self._compared(rows, k, own)
        step = max(1, min(BLOCK, ASKED // probes))
        ends = self._ends if isinstance(self._values, np.memmap) else None
        parts = []
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            mine = None if own is None else own[some]
            cells = self._cells(rows[some], probes)
            parts.append(_found(rows[some], cells, self._starts, self._values, k, self._members, mine, ends))
        return np.concatenate([found for found, _ in parts]), np.sqrt(np.concatenate([apart for _, apart in parts]))

    def _compared(self, rows: Rows, k: int, own: Whole | None) -> tuple[Whole, Rows]:
        """The same among all cells: a part of the file after the other, so that it is never in memory as a whole."""
        found, apart = np.full((len(rows), k), -1), np.full((len(rows), k), np.inf, dtype=np.float32)
        for first, last in pairwise(self._ends):
            start, stop = int(self._starts[first]), int(self._starts[last])
            starts = self._starts[first : last + 1] - start
            values, places = self._values[start * self.width : stop * self.width], self._members[start:stop]
            step = max(1, min(BLOCK, ASKED // (last - first)))
            for at in range(0, len(rows), step):
                some = slice(at, at + step)
                every = np.tile(np.arange(last - first), (len(rows[some]), 1))
                mine = None if own is None else own[some]
                more, further = _found(rows[some], every, starts, values, k, places, mine)
                names = np.concatenate([found[some], more], axis=1)
                gaps = np.concatenate([apart[some], further], axis=1)
                nearest = np.lexsort((names, gaps), axis=1)[:, :k]
                found[some] = np.take_along_axis(names, nearest, 1)
                apart[some] = np.take_along_axis(gaps, nearest, 1)
        return found, np.sqrt(apart)


def _found(
    rows: Rows,
    cells: Whole,
    starts: Whole,
    values: Rows,
    k: int,
    names: Any = None,
    own: Whole | None = None,
    ends: Sequence[int] | None = None,
) -> tuple[Whole, Rows]:
    """Names and squared distances of the k nearest in the given cells of each row, on several threads.

    `ends` are those of parts of the cells, which are let go one after the other.
    """
    found, apart = np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k), dtype=np.float32)
    known = np.arange(starts[-1]) if names is None else names
    mine = np.full(len(rows), -1, dtype=np.int64) if own is None else own
    parts = (0, starts.size - 1) if ends is None else ends

    def work(part: slice) -> None:
        search_cells(rows[part], mine[part], cells[part], starts, values, known, parts, found[part], apart[part])

    _side_by_side(work, len(rows), BLOCK)
    return found, apart


def _starts(counts: Any) -> Whole:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _groups_for(probes: int, groups: int) -> int:
    """In how many groups the nearest cells are looked for."""
    return min(groups, 4 + probes // 4)


def _side_by_side(work: Callable[[slice], None], count: int, most: int) -> None:
    """Do the parts of some work on as many threads as faiss would use; parts share nothing."""
    import faiss

    threads = faiss.omp_get_max_threads()
    step = max(1, min(most, math.ceil(count / threads)))
    parts = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    if threads == 1 or len(parts) == 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, parts))


def _centres(sample: Rows, count: int, seed: int) -> tuple[Rows, list[Rows]]:
    """The centres of groups, and those of the cells of each group, by k-means."""
    import faiss

    groups = max(1, math.isqrt(count))
    with _one_thread():  # sums in a fixed order
        coarse = _k_means(sample, groups, seed)
        group = faiss.knn(sample, coarse, 1)[1][:, 0]
        sizes = np.bincount(group, minlength=groups)
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(sizes)[:-1])
        # cells in proportion to the rows of the group; none for a group without any
        shares = np.minimum(sizes, np.maximum(np.round(sizes * count / sizes.sum()).astype(np.int64), 1))
        made = [_k_means(sample[some], int(share), seed) for some, share in zip(members, shares, strict=True)]
    return coarse, made


def _k_means(rows: Rows, count: int, seed: int) -> Rows:
    import faiss

    if count >= len(rows):
        return np.ascontiguousarray(rows[:count])
    machine = faiss.Kmeans(
        rows.shape[1], count, niter=ROUNDS, seed=seed, verbose=False, min_points_per_centroid=1,
        max_points_per_centroid=len(rows),
    )  # fmt: skip
    machine.train(np.ascontiguousarray(rows))
    return np.asarray(machine.centroids, dtype=np.float32)


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
