"""The cells of `compress`: one round directly to the size, or several gentle ones that are slower and more accurate.

How many cells there can be depends on how many moments are independent, which `guesses` estimates from a few points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cells import Merged, split
from .moment_table import MomentTable
from .recombination import reduce_cells, sample_rank
from .tight_clusters import Reduce

__all__ = ["guesses", "in_gentle_rounds", "in_one_round"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_OVERFULL = 1.25  # points in a gentle round's cell per point that stays
_ENOUGH = 0.5  # of the points that a round should remove
_FIRST = 4  # the first round leaves this many times the size
_SAMPLE = 4  # points per moment
_NEAR = 4.0  # times the median distance from the median: points beyond it are outliers


def in_one_round(
    data: Merged, weights: Array, size: int, products: MomentTable, least: int, reduce: Reduce | None = None
) -> tuple[Index, Array]:
    """Use cells that keep `least` points or a few more, `size` in all; reduced by the tree if `reduce` is not given."""
    cells = size // least
    members, starts = split(np.ascontiguousarray(data.places.T), cells)
    quotas = np.diff(size * np.arange(cells + 1) // cells)
    if reduce is None:
        return reduce_cells(data.points, weights, members, starts, quotas, products, least)
    parts = [reduce(weights, members[starts[c] : starts[c + 1]], int(quotas[c])) for c in range(cells)]
    return np.concatenate([kept for kept, _ in parts]), np.concatenate([fresh for _, fresh in parts])


def in_gentle_rounds(data: Merged, size: int, products: MomentTable, least: int) -> tuple[Index, Array]:
    """Reduce to four times the size at once, then in rounds of slightly overfull cells; the last removes the rest.

    When a small cell loses points, their neighbours share a cell with other points in the next round, so no border
    between cells persists. The last round removes points from the tightest cells.
    """
    weights = data.weights.copy()
    alive = np.arange(len(weights))
    if len(alive) > _FIRST * size:
        alive, fresh = in_one_round(data, weights, _FIRST * size, products, least)
        weights[alive] = fresh
        alive = np.sort(alive)
    full = _OVERFULL * least
    while len(alive) > size:
        before = len(alive)
        x = data.places[alive]
        places, starts = split(np.ascontiguousarray(x.T), max(1, int(before / full)))
        quotas = _shares(x[places], starts, least, before - size)
        alive, fresh = reduce_cells(
            data.points, weights, alive[places], starts, quotas, products, least
        )  # fmt: skip
        if before - len(alive) <= _ENOUGH * (before - quotas.sum()):
            if len(starts) == 2:
                break
            full *= 2  # more moments are independent than guessed: rounds of small cells would never end
        weights[alive] = fresh
        order = np.argsort(alive)
        alive = alive[order]
    return alive, weights[alive]


def _shares(x: Array, starts: Index, least: int, excess: int) -> Index:
    """The number of points each cell keeps: `least`, the tightest cells first, until the excess is used up."""
    counts = np.diff(starts)
    width = np.maximum.reduceat(x, starts[:-1]) - np.minimum.reduceat(x, starts[:-1])
    tight = np.argsort((width**2).sum(axis=1), kind="stable")
    spare = np.maximum(0, counts - least)[tight]
    taken = np.diff(np.minimum(np.cumsum(spare), excess), prepend=0)
    quotas = counts.copy()
    quotas[tight] -= taken
    return quotas


def guesses(points: Array, size: int, products: MomentTable) -> tuple[int, ...]:
    """Return guesses of the number of independent moments, the more careful first; `size` + 1 means more than `size`.

    A far outlier dominates the higher moments, and those of the other points vanish next to it: over all points few
    moments look independent, but within cells many more are. So a second guess leaves outliers out.
    """
    if products.moments > size and _rank(points, size + 1, products) > size:
        return (size + 1,)
    many = _SAMPLE * min(products.moments, size + 1)
    rank = _rank(points, many, products)
    if rank in (products.moments, min(many, len(points))):
        return (rank,)
    near = _near(points)
    if len(near) <= rank:  # too few for a better guess
        return (rank,)
    return tuple(dict.fromkeys((max(rank, _rank(points[near], many, products)), rank)))


def _rank(points: Array, many: int, products: MomentTable) -> int:
    n = len(points)
    return sample_rank(points[np.linspace(0, n - 1, min(n, many)).astype(np.int64)], products)


def _near(points: Array) -> Index:
    """Points that are not outliers in any coordinate; a coordinate where over half are equal has no outliers."""
    distance = np.abs(points - np.median(points, axis=0))
    usual = np.median(distance, axis=0)
    usual[usual == 0.0] = np.inf
    return np.flatnonzero((distance <= _NEAR * usual).all(axis=1))
