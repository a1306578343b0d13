"""A key per row, exact quotas: the rows with the smallest keys of each group, over any number of rows.

    pass 1   counts, per group, how many keys fall into each of some thousand bins; the bin in which a group's quota
             ends is its border, all before it are in, all after it are out
    pass 2   marks those that are in and gathers the rows of the borders alone, which are then sorted exactly

Bins are equally wide from the smallest to the largest key of the first block, with the tails in the outer bins. Only if
the borders hold too many rows to gather (many equal keys, long tails), each is divided into bins of its own, by the
keys or, among equal keys, by the numbers that break ties, until they do not. Memory is a flag per row, the table of
counts, and what is gathered; the answer is that of sorting, whatever the blocks are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.jit import compiled
from .row_blocks import Block
from .row_turn import Key, Split, Turn

__all__ = ["first_rows"]

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

CELLS = 1 << 21  # groups x bins
BINS = (16, 4096)
GATHERED = 1 << 21  # rows sorted exactly at the end


def first_rows(
    turn: Turn,
    key: Key,
    quotas: NDArray[np.int64],
    split: Split | None = None,
    split_columns: tuple[str, ...] = (),
) -> NDArray[np.bool_]:
    """Flag the rows with the smallest keys, exactly as many of each group as its quota.

    Parameters
    ----------
    turn
        The rows and their groups.
    key
        What decides.
    quotas
        One per group; not above the number of its rows.
    split, split_columns
        Divides the groups further: from a block and its groups to other group numbers, and the columns it reads.

    Returns
    -------
    NDArray
        A flag per row.
    """
    chosen = np.zeros(turn.rows.n, dtype=bool)
    if not quotas.any():
        return chosen
    borders = _Borders(turn, key, quotas, split, split_columns)
    borders.count()
    while borders.rows > GATHERED and borders.narrow():
        borders.count()
    borders.mark(chosen)
    return chosen


class _Borders:
    """Where each group's quota ends: an interval of keys, or of ties among equal keys, and a bin in it."""

    def __init__(
        self, turn: Turn, key: Key, quotas: NDArray[np.int64], split: Split | None, split_columns: tuple[str, ...]
    ) -> None:
        groups = quotas.size
        self._turn, self._key, self._split = turn, key, split
        self._asked = quotas > 0
        self._columns = tuple(dict.fromkeys((*key.columns, *split_columns)))
        self._bins = int(np.clip(CELLS // groups, *BINS))
        self._left = quotas.astype(np.int64)  # of the quota, within the interval
        self._least, self._most = np.full(groups, -np.inf), np.full(groups, np.inf)
        self._tied = np.zeros(groups, dtype=bool)  # whether the interval is one of ties
        self._value = np.zeros(groups)  # the key that they have
        self._border = np.zeros(groups, dtype=np.int64)
        self._held = np.zeros(groups, dtype=np.int64)  # rows in the border
        low, high = self._first_range()
        self._low, self._scale = np.full(groups, low), np.full(groups, _scale(low, high, self._bins))

    @property
    def rows(self) -> int:
        """The number of rows in all borders."""
        return int(self._held.sum())

    def _first_range(self) -> tuple[float, float]:
        for _, group, numbers in self._numbers():
            some = numbers[group >= 0]
            if some.size:
                return float(some.min()), float(some.max())
        return 0.0, 0.0

    def _numbers(self, more: tuple[str, ...] = ()) -> Iterator[tuple[Block, NDArray[np.int64], NDArray[np.float64]]]:
        """Each block, the group of each row, and the number that is compared: the key, or the tie of an equal one."""
        key, tied = self._key, bool(self._tied.any())
        names = tuple(dict.fromkeys((*self._columns, *more, *(key.tie_columns if tied else ()))))
        for block, group in self._turn.blocks(names):
            values = np.ascontiguousarray(key.of(block, group), dtype=np.float64)
            if self._split is not None:
                group = self._split(block, group)
            group[(group >= 0) & ~self._asked[group]] = -1
            if tied:
                where = np.flatnonzero((group >= 0) & self._tied[group])
                own, usual = values[where], self._value[group[where]]
                numbers = np.where(own < usual, -np.inf, np.inf)
                equal = own == usual
                numbers[equal] = _ties(key, block.at(where[equal]))
                values = values.copy()  # it may be the column itself
                values[where] = numbers
            yield block, group, values

    def count(self) -> None:
        """Count the rows per group and bin, and find the bin in which each quota ends."""
        table = np.zeros((self._left.size, self._bins), dtype=np.int64)
        for _, group, numbers in self._numbers():
            _count(numbers, group, self._least, self._most, self._low, self._scale, table)
        before = np.zeros(self._left.size, dtype=np.int64)
        for g in np.flatnonzero(self._asked):
            upto = np.cumsum(table[g])
            self._border[g] = at = int(np.searchsorted(upto, self._left[g]))
            before[g], self._held[g] = upto[at] - table[g, at], table[g, at]
        self._left -= before

    def narrow(self) -> bool:
        """Make the borders the intervals; False if nothing can be divided any more."""
        least, most = np.full(self._left.size, np.inf), np.full(self._left.size, -np.inf)
        for _, group, numbers in self._numbers():
            _extents(
                numbers, group, self._least, self._most, self._low, self._scale, self._border, self._bins, least, most
            )
        same = least == most
        ties = self._asked & same & ~self._tied & (self._key.tie is not None)
        whole = same & ~ties  # nothing decides any more but the order of the rows
        if bool((~self._asked | whole | (self._held <= self._left)).all()):
            return False
        self._value[ties] = least[ties]
        self._tied |= ties
        self._least, self._most = least, most
        self._least[ties], self._most[ties] = self._key.span
        for g in np.flatnonzero(self._asked):
            self._low[g] = self._least[g]
            self._scale[g] = _scale(self._least[g], self._most[g], self._bins)
        return True

    def mark(self, chosen: NDArray[np.bool_]) -> None:
        """Flag the rows before the borders, and the first of those in them."""
        found: list[tuple[NDArray[Any], ...]] = []
        key = self._key
        for block, group, numbers in self._numbers(key.tie_columns):
            where = _mark(
                numbers,
                group,
                self._least,
                self._most,
                self._low,
                self._scale,
                self._border,
                self._bins,
                chosen[block.place],
            )
            if where.size:
                ties = _ties(key, block.at(where)) if key.tie is not None else np.zeros(where.size)
                found.append((group[where], numbers[where], ties, block.start + where))
        if not found:
            return
        group, numbers, ties, position = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((position, ties, numbers, group))
        sizes = np.bincount(group, minlength=self._left.size)
        turn = np.arange(order.size) - (np.cumsum(sizes) - sizes)[group[order]]
        chosen[position[order[turn < self._left[group[order]]]]] = True


def _ties(key: Key, block: Block) -> NDArray[np.float64]:
    return np.zeros(len(block)) if key.tie is None or not len(block) else key.tie(block)


def _scale(low: float, high: float, bins: int) -> float:
    width = float(high) - float(low)
    return (
        bins / width if width > 0 else 0.0
    )  # infinite for a width near 0: then all but the lowest are in the last bin


@compiled
def _bin(number: float, low: float, scale: float, bins: int) -> int:
    """The bin of a number; larger numbers are in no earlier bin, whatever the rounding."""
    place = (number - low) * scale
    if not place > 0.0:
        return 0
    return bins - 1 if place >= bins - 1 else int(place)


@compiled
def _count(
    numbers: Floats, group: Index, least: Floats, most: Floats, low: Floats, scale: Floats, table: Index
) -> None:
    """Add the rows within the intervals to the counts, groups x bins."""
    bins = table.shape[1]
    for i in range(numbers.size):
        g = group[i]
        if g >= 0 and least[g] <= numbers[i] <= most[g]:
            table[g, _bin(numbers[i], low[g], scale[g], bins)] += 1


@compiled
def _extents(
    numbers: Floats,
    group: Index,
    least: Floats,
    most: Floats,
    low: Floats,
    scale: Floats,
    border: Index,
    bins: int,
    smallest: Floats,
    largest: Floats,
) -> None:
    """Move the smallest and the largest number of each border, in place."""
    for i in range(numbers.size):
        g, number = group[i], numbers[i]
        if g >= 0 and least[g] <= number <= most[g] and _bin(number, low[g], scale[g], bins) == border[g]:
            smallest[g] = min(smallest[g], number)
            largest[g] = max(largest[g], number)


@compiled
def _mark(
    numbers: Floats,
    group: Index,
    least: Floats,
    most: Floats,
    low: Floats,
    scale: Floats,
    border: Index,
    bins: int,
    chosen: NDArray[np.bool_],
) -> Index:
    """Flag the rows before the borders; return the places of those in them."""
    gathered = np.empty(numbers.size, dtype=np.int64)
    count = 0
    for i in range(numbers.size):
        g, number = group[i], numbers[i]
        if g < 0 or number > most[g]:
            continue
        place = -1 if number < least[g] else _bin(number, low[g], scale[g], bins)
        if place < border[g]:
            chosen[i] = True
        elif place == border[g]:
            gathered[count] = i
            count += 1
    return gathered[:count]
