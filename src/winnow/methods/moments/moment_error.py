"""Measure how far the moments of a compressed set are from those of all the points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.jit import compiled
from .moment_table import MomentTable, arrays, require_few, table

__all__ = ["moment_error"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_MOST = 1_000_000  # moments: a table of this size takes 16 MB and a second


def moment_error(
    points: ArrayLike,
    idx: ArrayLike,
    w: ArrayLike,
    order: int,
    weights: ArrayLike | None = None,
    *,
    targets: ArrayLike | None = None,
    cells: ArrayLike | None = None,
) -> float:
    """Compute the largest relative error of any moment of a compressed set.

    A moment is the weighted sum of a product of coordinates about the weighted mean. Its error is divided by the sum of
    the absolute terms, which makes it independent of units and offsets.

    Parameters
    ----------
    points, weights, targets
        The arguments of `compress`.
    idx, w
        The rows kept and their weights.
    order
        The highest order checked; it may give at most 1,000,000 moments.
    cells
        An integer per point. If given, each cell's moments are checked about its own mean, and the worst error is
        returned.

    Returns
    -------
    float
        The largest relative error.

    Raises
    ------
    InputError
        If an argument is out of range or the lengths do not match.

    Examples
    --------
    >>> from winnow.methods.moments import compress
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> bool(moment_error(x, *compress(x, 100, 3), order=3) < 1e-12)
    True
    """
    owner = "moment_error"
    x, y, before = arrays(owner, points, weights, targets)
    rows = checks.array("idx", owner, idx, ndim=1)
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(x):
        given = f"dtype {rows.dtype}" if rows.dtype.kind not in "iu" else f"{rows.min()} to {rows.max()}"
        raise InputError(f"idx of {owner} must be rows of points, integers from 0 to {len(x) - 1}; got {given}.")
    after = np.zeros(len(x))
    np.add.at(after, rows, checks.array("w", owner, w, ndim=1, rows=len(rows), dtype=np.float64))
    order = checks.integer("order", owner, order, low=1)
    beside = 0 if y is None else y.shape[1]
    require_few(owner, x.shape[1], order, beside, most=_MOST)
    products = table(x.shape[1], order, beside)
    whole = _shrunk(x if y is None else np.hstack([x, y]))
    if cells is None:
        members, starts = np.arange(len(x)), np.array([0, len(x)])
    else:
        labels = checks.array("cells", owner, cells, ndim=1, rows=len(x))
        members = np.argsort(labels, kind="stable")
        changes = np.flatnonzero(np.diff(labels[members]))
        starts = np.concatenate([[0], changes + 1, [len(x)]])
    return float(_worst(whole, before, after, members, starts, products))


def _shrunk(table: Array) -> Array:
    """Shift and scale coordinates into [-1, 1], so that no product overflows."""
    middle = table.max(axis=0) / 2 + table.min(axis=0) / 2
    half = table / 2 - middle / 2
    largest = np.abs(half).max(axis=0)
    return np.ascontiguousarray(half / np.where(largest > 0, largest, 1.0))


@compiled
def _add(total: Array, a: int, term: float) -> None:
    """Add with compensation: total[a, 1] collects what rounding takes from total[a, 0]."""
    old = total[a, 0]
    new = old + term
    if abs(old) >= abs(term):
        total[a, 1] += (old - new) + term
    else:
        total[a, 1] += (term - new) + old
    total[a, 0] = new


@compiled
def _worst(points: Array, before: Array, after: Array, members: Index, starts: Index, products: MomentTable) -> float:
    dimension, width = points.shape[1], products.parent.size
    worst = 0.0
    product = np.ones(width)
    for c in range(len(starts) - 1):
        cell = members[starts[c] : starts[c + 1]]
        whole = 0.0
        centre = np.zeros(dimension)
        for i in cell:
            whole += before[i]
            for j in range(dimension):
                centre[j] += before[i] * points[i, j]
        if whole == 0.0:
            for i in cell:
                if after[i] != 0.0:
                    return np.inf
            continue
        centre /= whole
        off, size = np.zeros((width, 2)), np.zeros(width)
        for i in cell:
            for a in range(1, width):
                j = products.coordinate[a]
                product[a] = product[products.parent[a]] * (points[i, j] - centre[j])
            for a in range(width):
                size[a] += before[i] * abs(product[a])
                if after[i] != 0.0:
                    _add(off, a, after[i] * product[a])
                _add(off, a, -before[i] * product[a])
        for a in range(width):
            error = abs(off[a, 0] + off[a, 1])
            if size[a] > 0.0:
                worst = max(worst, error / size[a])
            elif error > 0.0:
                return np.inf
    return worst
