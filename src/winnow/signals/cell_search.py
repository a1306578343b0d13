"""The loops of `row_cells`: rows are put into cells, and the nearest of what stands in some cells is found.

A cell is compared with one row after the other while it is in the processor's cache. The distance grows column by
column, so a cell, or what is left of it, is dropped as soon as nothing in it can be among the nearest. Each sum runs
over the columns in their order, in float32: it depends neither on what was dropped nor on any vector width.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.jit import compiled
from ..core.scratch_rows import let_go

__all__ = ["put_places", "put_rows", "search_cells"]

Rows = NDArray[np.float32]
Whole = NDArray[np.int64]

COLUMNS = 8  # summed at a time
FEW = 64  # if at most one in so many is left, these are summed one by one
NOTHING = np.int64(2**62)  # the name of a place that is not taken; all others go before it


@compiled
def put_places(own: Any, starts: Whole, members: Any) -> None:
    """Write the place of each row among those of its cell, ascending."""
    written = starts.copy()
    for row in range(own.size):
        members[written[own[row]]] = row
        written[own[row]] += 1


@compiled
def put_rows(rows: Rows, own: Any, starts: Whole, written: Whole, values: Rows) -> None:
    """Write rows to the places of their cells, one column after the other; `written` says how many are there."""
    width = rows.shape[1]
    for row in range(rows.shape[0]):
        cell = own[row]
        count = starts[cell + 1] - starts[cell]
        place = starts[cell] * width + written[cell]
        written[cell] += 1
        for column in range(width):
            values[place + column * count] = rows[row, column]


@compiled
def _after(gap: float, name: int, other_gap: float, other_name: int) -> bool:
    """Whether the first goes after the second: by distance, then by name."""
    return gap > other_gap or (gap == other_gap and name > other_name)


@compiled
def _sink(found: Whole, apart: Rows, row: int, size: int) -> None:
    """Put the first of a row's heap, whose last in order comes first, where it belongs among the first `size`."""
    at, gap, name = 0, apart[row, 0], found[row, 0]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _after(
            apart[row, below + 1], found[row, below + 1], apart[row, below], found[row, below]
        ):
            below += 1
        if not _after(apart[row, below], found[row, below], gap, name):
            break
        apart[row, at], found[row, at] = apart[row, below], found[row, below]
        at = below
    apart[row, at], found[row, at] = gap, name


@compiled
def _sort(found: Whole, apart: Rows, row: int) -> None:
    """Bring a row's heap into order, nearest first; places that were not taken become -1."""
    for last in range(found.shape[1] - 1, 0, -1):
        apart[row, 0], apart[row, last] = apart[row, last], apart[row, 0]
        found[row, 0], found[row, last] = found[row, last], found[row, 0]
        _sink(found, apart, row, last)
    for place in range(found.shape[1]):
        if found[row, place] == NOTHING:
            found[row, place] = -1


@compiled
def _visit(rows: Rows, own: Whole, asking: Any, cell: Rows, names: Any, gaps: Rows, found: Whole, apart: Rows) -> None:
    """Compare a cell with the rows that ask for it; those that are near enough go among those found so far.

    One loop in one function: to hand arrays to another one takes as long as a pass over eight columns.
    """
    width, count = cell.shape
    for row in asking:
        for place in range(count):
            gaps[place] = 0.0
        column, left = 0, count
        while column < width and left * FEW > count:
            limit, passed = apart[row, 0], np.int32(0)
            if column + COLUMNS <= width:  # in one pass, so that the sums are read and written once
                v0, v1, v2, v3 = rows[row, column], rows[row, column + 1], rows[row, column + 2], rows[row, column + 3]
                v4, v5, v6, v7 = (
                    rows[row, column + 4],
                    rows[row, column + 5],
                    rows[row, column + 6],
                    rows[row, column + 7],
                )
                for place in range(count):
                    gap = gaps[place]
                    off = cell[column, place] - v0
                    gap += off * off
                    off = cell[column + 1, place] - v1
                    gap += off * off
                    off = cell[column + 2, place] - v2
                    gap += off * off
                    off = cell[column + 3, place] - v3
                    gap += off * off
                    off = cell[column + 4, place] - v4
                    gap += off * off
                    off = cell[column + 5, place] - v5
                    gap += off * off
                    off = cell[column + 6, place] - v6
                    gap += off * off
                    off = cell[column + 7, place] - v7
                    gap += off * off
                    gaps[place] = gap
                column += COLUMNS
            else:
                value = rows[row, column]
                for place in range(count):
                    off = cell[column, place] - value
                    gaps[place] += off * off
                column += 1
            for place in range(count):
                passed += np.int32(1) if gaps[place] <= limit else np.int32(0)
            left = passed
        if left == 0:
            continue
        for place in range(count):
            gap = gaps[place]
            if gap > apart[row, 0]:
                continue
            name = names[place]
            if name == own[row]:
                continue
            for rest in range(column, width):
                off = cell[rest, place] - rows[row, rest]
                gap += off * off
            if _after(apart[row, 0], found[row, 0], gap, name):
                apart[row, 0], found[row, 0] = gap, name
                _sink(found, apart, row, found.shape[1])


@compiled
def _asked(cells: Whole, first: int, stop: int, count: int) -> tuple[Whole, Any]:
    """Which rows ask for each cell, by the cells at some places of their lists; and where those of each cell start."""
    starts = np.zeros(count + 2, dtype=np.int64)
    for row in range(cells.shape[0]):
        for probe in range(first, stop):
            starts[cells[row, probe] + 1] += 1  # those without a cell come first
    starts = np.cumsum(starts)
    asking = np.empty(starts[-1], dtype=np.int32)
    for row in range(cells.shape[0] - 1, -1, -1):
        for probe in range(first, stop):
            starts[cells[row, probe] + 1] -= 1
            asking[starts[cells[row, probe] + 1]] = row
    return starts[1:], asking


@compiled
def _visit_cells(
    rows: Rows,
    own: Whole,
    asked: Whole,
    asking: Any,
    first: int,
    last: int,
    starts: Whole,
    values: Rows,
    names: Any,
    found: Whole,
    apart: Rows,
) -> None:
    """Visit the cells from `first` to `last` with the rows that ask for them."""
    width = rows.shape[1]
    gaps = np.empty(np.diff(starts[first : last + 1]).max(), dtype=np.float32)
    for cell in range(first, last):
        if asked[cell + 1] > asked[cell]:
            start, size = starts[cell], starts[cell + 1] - starts[cell]
            inside = values[start * width : (start + size) * width].reshape(width, size)
            known, those = names[start : start + size], asking[asked[cell] : asked[cell + 1]]
            _visit(rows, own, those, inside, known, gaps, found, apart)


@compiled
def _sort_all(found: Whole, apart: Rows) -> None:
    for row in range(found.shape[0]):
        _sort(found, apart, row)


def search_cells(
    rows: Rows,
    own: Whole,
    cells: Whole,
    starts: Whole,
    values: Rows,
    names: Any,
    ends: Sequence[int],
    found: Whole,
    apart: Rows,
) -> None:
    """Find the nearest in the given cells of each row, nearest first, with squared distances.

    Parameters
    ----------
    rows, own
        What is searched for, and the name that each must not find; -1 for none.
    cells
        The cells of each row, best first; -1 for none.
    starts, values, names
        Where the cells start, what stands in them, and what it is called.
    ends
        Cells from one of these to the next are visited together; then their pages are let go, if they are in a file.
    found, apart
        Filled with names and squared distances; -1 where the cells hold fewer.
    """
    found[:], apart[:] = NOTHING, np.inf
    first, probes = 0, cells.shape[1]
    while first < probes:  # a few cells of each row at a time: after the best ones, most others are soon dropped
        stop = min(probes, 4 * first + 1)
        asked, asking = _asked(cells, first, stop, starts.size - 1)
        for low, high in pairwise(ends):
            if asked[high] > asked[low]:
                _visit_cells(rows, own, asked, asking, low, high, starts, values, names, found, apart)
                let_go(values)
        first = stop
    _sort_all(found, apart)
