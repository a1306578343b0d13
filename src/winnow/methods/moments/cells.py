"""Prepare points (merge, sort, scale) and divide them into cells by median cuts along the widest side.

Sorting makes the result depend only on the set of points and weights, not on their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.jit import compiled

__all__ = ["Merged", "merge", "split"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Merged:
    """Distinct points in lexicographic order, without coordinates that have no spread.

    Attributes
    ----------
    points
        Centred and divided by the mean distance to the median, coordinates of x before targets.
    weights
        Summed over duplicates; positive.
    first
        The first row of each point in the input.
    dimensions
        The number of columns that are coordinates of x.
    """

    points: Array
    weights: Array
    first: Index
    dimensions: int

    @property
    def targets(self) -> int:
        """The number of columns that are targets."""
        return int(self.points.shape[1]) - self.dimensions

    @property
    def places(self) -> Array:
        """The positions used to cut cells: x, or the targets where x has no spread."""
        return self.points[:, : self.dimensions or None]


def merge(points: Array, targets: Array | None, weights: Array) -> Merged:
    """Drop points of weight zero, merge equal points, sort and scale the rest."""
    table = points if targets is None else np.hstack([points, targets])
    live = np.flatnonzero(weights > 0)
    table, weights = table[live] + 0.0, weights[live]  # + 0.0 makes -0.0 equal to 0.0
    varying = (table != table[:1]).any(axis=0)
    dimensions = int(varying[: points.shape[1]].sum())
    table = table[:, varying]
    # equal points are ordered by weight, so that even the rounding of their sum does not depend on the input order
    order = np.lexsort((weights, *table.T[::-1]))
    table, weights, live = table[order], weights[order], live[order]
    new = np.ones(len(table), bool)
    new[1:] = (table[1:] != table[:-1]).any(axis=1)
    if not new.all():
        starts = np.flatnonzero(new)
        table, weights = table[starts], np.add.reduceat(weights, starts)
        live = np.minimum.reduceat(live, starts)
    return Merged(np.ascontiguousarray(_scaled(table)), weights, live, dimensions)


def _scaled(table: Array) -> Array:
    if not table.shape[1]:
        return table
    middle = np.median(table, axis=0)
    with np.errstate(over="ignore"):
        largest = np.abs(table / 2 - middle / 2).max(axis=0)
    moved = (table / 2 - middle / 2) / largest
    spread = np.abs(moved).mean(axis=0)
    return np.asarray(moved / spread)


@compiled
def _select(values: Array, members: Index, k: int) -> None:
    """Reorder so that the k-th smallest value is at place k, none larger before it and none smaller after it."""
    low, high = 0, len(members) - 1
    while low < high:
        a, b, c = values[members[low]], values[members[(low + high) // 2]], values[members[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[members[i]] < pivot:
                i += 1
            while values[members[j]] > pivot:
                j -= 1
            if i <= j:
                members[i], members[j] = members[j], members[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


def split(columns: Array, cells: int) -> tuple[Index, Index]:
    """Cut all points into cells of equal counts, each cut across the widest side.

    Parameters
    ----------
    columns
        One row per coordinate.
    cells
        The number of cells; not necessarily a power of two.

    Returns
    -------
    members, starts
        Cell c holds members[starts[c] : starts[c + 1]].
    """
    members, starts = np.arange(columns.shape[1]), np.zeros(cells + 1, np.int64)
    parts = np.empty((4, 128), np.int64)  # points and cells of the parts that are still to be cut
    _cut(columns, cells, members, starts, parts)
    return members, starts


@compiled
def _cut(columns: Array, cells: int, members: Index, starts: Index, parts: Index) -> None:
    dimension, n = columns.shape
    starts[cells] = n
    lows, highs, firsts, lasts = parts[0], parts[1], parts[2], parts[3]
    lows[0], highs[0], firsts[0], lasts[0] = 0, n, 0, cells
    top = 1
    while top > 0:
        top -= 1
        low, high, first, last = lows[top], highs[top], firsts[top], lasts[top]
        if last - first == 1:
            starts[first] = low
            continue
        axis, widest = 0, -1.0
        for j in range(dimension):
            least, most = np.inf, -np.inf
            for i in range(low, high):
                value = columns[j, members[i]]
                least, most = min(least, value), max(most, value)
            if most - least > widest:
                axis, widest = j, most - least
        half = (last - first) // 2
        cut = low + (high - low) * half // (last - first)
        if high - low > 1:
            _select(columns[axis], members[low:high], cut - low)
        lows[top], highs[top], firsts[top], lasts[top] = low, cut, first, first + half
        lows[top + 1], highs[top + 1], firsts[top + 1], lasts[top + 1] = cut, high, first + half, last
        top += 2
