"""Recombination in one cell: the same moments on as few points as there are independent moments.

The tree of Tchernychova and Lyons: put the points into a few more groups than there are moments, remove groups until
as many are left as moments, and continue with the points of the remaining groups. Each round costs one small
factorisation and about halves the points. Moments are about the cell's mean and each is measured by the sum of its
absolute terms, so neither an offset nor an outlier costs digits. At the end the weights are corrected for the
accumulated rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.jit import compiled
from .moment_table import MomentTable
from .null_vectors import factorise, lighten, solve_left

__all__ = ["reduce_cell", "reduce_cells", "sample_rank", "terms"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@compiled
def _products(point: Array, centre: Array, products: MomentTable, out: Array) -> None:
    out[0] = 1.0
    for a in range(1, out.size):
        j = products.coordinate[a]
        out[a] = out[products.parent[a]] * (point[j] - centre[j])


@compiled
def _absolute(
    points: Array, weights: Array, members: Index, centre: Array, products: MomentTable, product: Array, size: Array
) -> None:  # fmt: skip
    for i in members:
        _products(points[i], centre, products, product)
        for a in range(size.size):
            size[a] += weights[i] * abs(product[a])


def _frame(points: Array, weights: Array, members: Index, products: MomentTable) -> tuple[Array, Array]:
    """The cell's weighted mean, and the inverse of the sum of each moment's absolute terms (0 where that is 0)."""
    own = weights[members]
    total = own.sum()
    centre = own @ points[members] / total
    product, size = np.empty(products.parent.size), np.zeros(products.parent.size)
    _absolute(points, weights, members, centre, products, product, size)
    large = size > 1e-290 * total
    size[large] = 1.0 / size[large]
    size[~large] = 0.0
    return centre, size


@compiled
def _add(
    points: Array, members: Index, weights: Array, centre: Array, products: MomentTable, product: Array, rows: Array
) -> None:  # fmt: skip
    n, count = len(members), len(rows)
    for i in range(n):
        _products(points[members[i]], centre, products, product)
        row, weight = rows[i * count // n], weights[i]
        for a in range(product.size):
            row[a] += weight * product[a]


def _gathered(
    points: Array, members: Index, weights: Array, centre: Array, size: Array, products: MomentTable, count: int
) -> Array:  # fmt: skip
    """Sum the members' terms of every moment into rows: member i of n goes to row i * count // n."""
    rows = np.zeros((count, products.parent.size))
    _add(points, members, weights, centre, products, np.empty(products.parent.size), rows)
    rows *= size
    return rows


def _correct(rows: Array, weights: Array, moments: Array) -> None:
    """Correct the weights of independent points for the remaining error of the moments; `rows` are their terms."""
    factors = rows.copy()
    rank, order, columns = factorise(factors)
    share = better = np.ones(len(weights))
    least = np.inf
    for _ in range(4):
        off = moments - share @ rows
        now = np.abs(off).max()
        if now >= least:
            break
        least, better = now, share
        share = share + solve_left(factors, rank, order, columns, off)
        if not share.min() > 0.0:
            break
    weights *= better


def _lightened(
    points: Array, weights: Array, members: Index, products: MomentTable, quota: int, spare: int
) -> tuple[Index, Array, Array, Array]:  # fmt: skip
    """The points that stay, their weights and terms, and the moments of all.

    Only the loops that need it are compiled, and these make no arrays: both would cost seconds on first use.
    """
    kept, own, moments = members, weights[members], None
    centre, size = _frame(points, weights, members, products)
    while len(kept) > quota:
        count = min(len(kept), quota + spare)
        rows = _gathered(points, kept, own, centre, size, products, count)
        moments = rows.sum(axis=0) if moments is None else moments
        share, alive = lighten(rows, quota)
        if alive == count:
            break
        share = share[np.arange(len(kept)) * count // len(kept)]
        stays = share > 0.0
        kept, own = kept[stays], own[stays] * share[stays]
    rows = _gathered(points, kept, own, centre, size, products, len(kept))
    return kept, own, rows, rows.sum(axis=0) if moments is None else moments


def reduce_cell(
    points: Array, weights: Array, members: Index, products: MomentTable, quota: int, spare: int
) -> tuple[Index, Array]:
    """Remove points until `quota` are left, or as many as are independent if that is more.

    Parameters
    ----------
    points, weights
        All points, scaled so that each coordinate's size is near 1, and their weights.
    members
        The cell's points.
    products
        The table of products.
    quota
        The number of points that may stay.
    spare
        How many more groups than that a round makes.
    """
    if len(members) <= quota:
        return members.copy(), weights[members]
    kept, own, rows, moments = _lightened(points, weights, members, products, quota, spare)
    # Of 936 hard cases (1 to 4 dimensions, orders 1 to 6) one is above 1e-12: 30,000 points with heavy tails and
    # weights over 12 decades, 1.3e-12 with this correction and without. In a few others it gains a digit, from 1e-13
    # at most.
    _correct(rows, own, moments)
    own *= weights[members].sum() / own.sum()
    return kept, own


def reduce_cells(
    points: Array, weights: Array, members: Index, starts: Index, quotas: Index, products: MomentTable, spare: int
) -> tuple[Index, Array]:  # fmt: skip
    """Reduce every cell to its quota; what one cell leaves unused (where several points went at once) another may use.

    Cell c has the members starts[c] : starts[c + 1]. More points than the sum of the quotas are returned if a cell had
    more independent points than its quota.
    """
    cells = len(quotas)
    kept, fresh, counts = members.copy(), np.empty(len(members)), np.zeros(cells, np.int64)
    over = 0
    for turn in range(2 * cells):
        c = turn if turn < cells else 2 * cells - 1 - turn
        if turn >= cells and over <= 0:
            break
        low, high = starts[c], starts[c + 1]
        quota = quotas[c] + over if turn < cells else counts[c] + over
        if turn >= cells and counts[c] == high - low:
            continue
        one, own = reduce_cell(points, weights, members[low:high], products, max(1, quota), spare)
        kept[low : low + len(one)], fresh[low : low + len(one)] = one, own
        counts[c], over = len(one), quota - len(one)
    done = 0
    for c in range(cells):
        for i in range(starts[c], starts[c] + counts[c]):
            kept[done], fresh[done] = kept[i], fresh[i]
            done += 1
    return kept[:done], fresh[:done]


def terms(points: Array, weights: Array, members: Index, products: MomentTable) -> Array:
    """One row per member: its products about the cell's mean, each divided by the sum of its absolute terms."""
    centre, size = _frame(points, weights, members, products)
    return _gathered(points, members, np.ones(len(members)), centre, size, products, len(members))


def sample_rank(points: Array, products: MomentTable) -> int:
    """The number of independent moments of these points, all of one weight; a far outlier among them hides some."""
    rank, _, _ = factorise(terms(points, np.ones(len(points)), np.arange(len(points)), products))
    return int(rank)
