"""A turn of choosing among rows: which rows may be chosen, in which groups, how many, and by what key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .row_blocks import Block, Rows

__all__ = ["Chosen", "Key", "Split", "Turn", "group_counts", "group_totals"]

Split = Callable[[Block, NDArray[np.int64]], NDArray[np.int64]]
Chosen = tuple[NDArray[np.bool_], list[dict[str, Any]]]  # a flag per row, and a certificate per group


@dataclass(frozen=True)
class Key:
    """What decides between rows: the smaller number first, then the smaller tie, then the earlier row.

    Parameters
    ----------
    columns, of
        The columns that are read, and the key of each row of a block, finite.
    tie_columns, tie
        The same of the numbers that break ties; only computed where keys are equal. None leaves it to the order.
    span
        The range of the ties.
    """

    columns: tuple[str, ...]
    of: Callable[[Block, NDArray[np.int64]], NDArray[np.float64]]
    tie_columns: tuple[str, ...] = ()
    tie: Callable[[Block], NDArray[np.float64]] | None = None
    span: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Turn:
    """One round of choosing: the rows that may be chosen, in groups, and how many of each group.

    Parameters
    ----------
    rows
        All rows.
    counts, sizes
        How many rows of each group may be chosen, and how many will be.
    keep
        The fraction of all examples that the whole selection keeps.
    seed
        Seed of draws and ties.
    by_class
        Whether groups are the classes; otherwise all rows are one group.
    taken
        A flag per row that may not be chosen; None if all may.
    """

    rows: Rows
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    keep: float
    seed: int
    by_class: bool = False
    taken: NDArray[np.bool_] | None = None

    def blocks(self, names: tuple[str, ...]) -> Iterator[tuple[Block, NDArray[np.int64]]]:
        """Each block with the group of each of its rows; -1 for rows that may not be chosen."""
        wanted = dict.fromkeys((*names, "labels") if self.by_class else names or ("ids",))
        asked = self.sizes > 0
        for block in self.rows.blocks(tuple(wanted)):
            if self.by_class:
                group = block["labels"].astype(np.int64)
                group[~asked[group]] = -1
            else:
                group = np.zeros(len(block), dtype=np.int64)
            if self.taken is not None:
                group[self.taken[block.place]] = -1
            yield block, group


def group_counts(rows: Rows, groups: int) -> NDArray[np.int64]:
    """How many rows each class has."""
    counts = np.zeros(groups, dtype=np.int64)
    for block in rows.blocks(("labels",)):
        counts += np.bincount(block["labels"], minlength=groups)
    return counts


def group_totals(turn: Turn) -> tuple[NDArray[np.float64], float]:
    """The sum of the scores of each group, and the smallest score of all."""
    totals, least = np.zeros(turn.sizes.size), np.inf
    for block, group in turn.blocks(("scores",)):
        free = group >= 0
        if free.any():
            totals += np.bincount(group[free], block["scores"][free], minlength=totals.size)
            least = min(least, float(block["scores"][free].min()))
    return totals, least
