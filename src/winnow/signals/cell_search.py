"""The loops of `row_cells`: rows are put into cells, and the nearest cells of a row, and rows in these, are found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.jit import compiled

__all__ = ["nearest_cells", "put_rows", "search_cells"]

Rows = NDArray[np.float32]
Whole = NDArray[np.int64]


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
def _scan(row: Rows, values: Rows, gaps: Rows) -> None:
    """Squared distances of a row to others, which are given column by column."""
    count = gaps.size
    for place in range(count):
        gaps[place] = 0.0
    for column in range(row.size):
        value, line = row[column], values[column * count : (column + 1) * count]
        for place in range(count):
            gap = line[place] - value
            gaps[place] += gap * gap


@compiled
def _keep(gaps: Rows, names: Any, own: int, found: Whole, apart: Rows) -> None:
    """Put those that are near enough among those found so far: by distance, then by name."""
    k = found.size
    worst = apart[k - 1]
    for place in range(gaps.size):
        gap = gaps[place]
        if gap > worst:
            continue
        name = names[place]
        if name == own or (gap == worst and name > found[k - 1] >= 0):
            continue
        slot = k - 1
        while slot > 0 and (apart[slot - 1] > gap or (apart[slot - 1] == gap and found[slot - 1] > name)):
            apart[slot], found[slot] = apart[slot - 1], found[slot - 1]
            slot -= 1
        apart[slot], found[slot] = gap, name
        worst = apart[k - 1]


@compiled
def nearest_cells(rows: Rows, groups: Rows, starts: Whole, centres: Rows, some: int, found: Whole) -> None:
    """The nearest cells of each row in the nearest groups; -1 where these have fewer."""
    width, probes, every = rows.shape[1], found.shape[1], starts[-1]
    if probes == every:
        for row in range(rows.shape[0]):
            found[row] = np.arange(every)
        return
    names = np.arange(max(every, starts.size))
    far_groups, nearest_groups = np.empty(starts.size - 1, dtype=np.float32), np.empty(some, dtype=np.int64)
    far, order = np.empty(every, dtype=np.float32), np.empty(every, dtype=np.int64)
    gaps = np.empty(max(some, probes), dtype=np.float32)
    for row in range(rows.shape[0]):
        _scan(rows[row], groups, far_groups)
        gaps[:some], nearest_groups[:] = np.inf, -1
        _keep(far_groups, names, -1, nearest_groups, gaps[:some])
        filled = 0
        for group in nearest_groups:
            start, stop = starts[group], starts[group + 1]
            count = stop - start
            _scan(rows[row], centres[start * width : stop * width], far[filled : filled + count])
            order[filled : filled + count] = names[start:stop]
            filled += count
        if probes <= 64:
            gaps[:probes], found[row] = np.inf, -1
            _keep(far[:filled], order[:filled], -1, found[row], gaps[:probes])
        else:
            found[row] = -1
            found[row, : min(probes, filled)] = order[:filled][np.argsort(far[:filled])[:probes]]


@compiled
def search_cells(
    rows: Rows,
    own: Whole,
    cells: Whole,
    starts: Whole,
    values: Rows,
    members: Any,
    most: int,
    found: Whole,
    apart: Rows,
) -> None:
    """The nearest rows in the given cells of each row."""
    width = rows.shape[1]
    gaps = np.empty(most, dtype=np.float32)
    found[:], apart[:] = -1, np.inf
    for row in range(rows.shape[0]):
        for cell in cells[row]:
            if cell < 0:
                continue
            start, stop = starts[cell], starts[cell + 1]
            _scan(rows[row], values[start * width : stop * width], gaps[: stop - start])
            _keep(gaps[: stop - start], members[start:stop], own[row], found[row], apart[row])
