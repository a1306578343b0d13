"""The number of moments, and the table by which they are computed.

A moment is the weighted sum of a product of coordinates. The table builds each product from a shorter one and one more
coordinate, so that a point's row costs one multiplication per entry. With targets y the products are x^a and
x^a y_q for |a| <= order, and y_q^2: everything that a squared loss depends on if the model is a polynomial in x.

The checks that the functions of this package share are here too: of the points (`arrays`), the size and the order.
"""

from __future__ import annotations

from math import comb, log10
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError

__all__ = ["MomentTable", "arrays", "count", "feasible_size", "fitting_order", "require_few", "require_size", "table"]

Array = NDArray[np.float64]

_NOTHING = 1e-290  # relative to the largest weight: products with smaller weights run out of digits


class MomentTable(NamedTuple):
    """Products of coordinates, shorter ones first; the first is 1.

    Attributes
    ----------
    parent
        For each product but the first, the product it extends.
    coordinate
        The coordinate it is extended by; targets come after the coordinates of x.
    """

    parent: NDArray[np.int64]
    coordinate: NDArray[np.int64]

    @property
    def moments(self) -> int:
        """The number of products."""
        return len(self.parent)


def count(m: int, order: int, targets: int = 0) -> int:
    """The number of moments, for arguments known to be valid."""
    return comb(m + order, order) * (1 + targets) + targets


def feasible_size(m: int, order: int, targets: int = 0) -> int:
    """Return the number of points that always suffice to match all moments up to an order.

    Parameters
    ----------
    m
        The dimension of a point.
    order
        The highest order to match.
    targets
        The number of targets, if `compress` is given targets.

    Returns
    -------
    int
        The number of moments.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> feasible_size(3, 5)
    56
    """
    owner = "feasible_size"
    m = checks.integer("m", owner, m, low=1)
    order = checks.integer("order", owner, order, low=1)
    return count(m, order, checks.integer("targets", owner, targets, low=0))


def fitting_order(m: int, size: int, targets: int = 0) -> int:
    """Return the largest order whose moments `size` points can match; 0 if not even the first."""
    order = 0
    while count(m, order + 1, targets) <= size:
        order += 1
    return order


def require_size(owner: str, m: int, size: int, order: int, targets: int) -> None:
    """Raise if the size is below the number of moments, and say what would work."""
    least = count(m, order, targets)
    if size >= least:
        return
    fits = fitting_order(m, size, targets)
    beside = f" and {targets} target(s)" if targets else ""
    remedy = (
        f"the largest order that fits {size} is {fits}"
        if fits
        else f"not even order 1 fits, which needs {count(m, 1, targets)}"
    )
    raise InputError(
        f"size of {owner} must be at least {_told(least)} to match the moments up to order {order} in {m} dimension(s)"
        f"{beside}; got {size}: {remedy}."
    )


def require_few(owner: str, m: int, order: int, targets: int, *, most: int, size: int | None = None) -> None:
    """Raise if an order has more moments than fit in memory, before anything of that size is allocated."""
    moments = count(m, order, targets)
    if moments <= most:
        return
    fits = fitting_order(m, most if size is None else min(most, size), targets)
    beside = f" and {targets} target(s)" if targets else ""
    within = "" if size is None or size > most else f" and {size} points"
    remedy = f"the largest order that fits this{within} is {fits}" if fits else "not even order 1 fits: reduce them"
    raise InputError(
        f"order of {owner} must make at most {most} moments; order {order} in {m} dimension(s){beside} makes "
        f"{_told(moments)}: {remedy}."
    )


def _told(number: int) -> str:
    """Format an integer; a very long one by its order of magnitude."""
    return str(number) if number < 10**15 else f"about 10^{int(number.bit_length() * log10(2))}"


def table(m: int, order: int, targets: int = 0) -> MomentTable:
    """The products of `m` coordinates up to `order`, and those with targets."""
    parent, coordinate = [0], [-1]
    first_of_last = [0] * m  # products of the last degree that end in coordinate j or later start here
    for _ in range(order):
        ends = len(parent)
        fresh = []
        for j in range(m):
            fresh.append(len(parent))
            for one in range(first_of_last[j], ends):
                parent.append(one)
                coordinate.append(j)
        first_of_last = fresh
    plain = len(parent)
    starts = []
    for q in range(targets):
        starts.append(len(parent))
        parent += range(plain)
        coordinate += [m + q] * plain
    for q in range(targets):
        parent.append(starts[q])
        coordinate.append(m + q)
    return MomentTable(np.array(parent, np.int64), np.array(coordinate, np.int64))


def arrays(
    owner: str, points: ArrayLike, weights: ArrayLike | None, targets: ArrayLike | None
) -> tuple[Array, Array | None, Array]:
    """Return points (one row each), targets (one row each, or None) and weights (ones if not given)."""
    x = _reals("points", owner, points, ndim=(1, 2))
    x = x[:, None] if x.ndim == 1 else x
    y = None
    if targets is not None:
        y = _reals("targets", owner, targets, ndim=(1, 2), rows=len(x))
        y = y[:, None] if y.ndim == 1 else y
    if weights is None:
        return x, y, np.ones(len(x))
    w = _reals("weights", owner, weights, ndim=(1,), rows=len(x))
    if (w < 0).any():
        raise InputError(
            f"weights of {owner} must not be negative; {int((w < 0).sum())} are, the first at {int(np.argmax(w < 0))}."
        )
    if not 0 < w.sum() < np.inf:
        raise InputError(f"weights of {owner} must have a finite sum above zero; got {w.sum():g}.")
    return x, y, np.where(w < _NOTHING * w.max(), 0.0, w)


def _reals(name: str, owner: str, value: ArrayLike, *, ndim: tuple[int, ...], rows: int | None = None) -> Array:
    """Return an array of floats; complex numbers, which numpy would cut to their real parts, raise an error."""
    if np.iscomplexobj(value):
        raise InputError(f"{name} of {owner} must be real numbers; got complex ones.")
    return checks.array(name, owner, value, ndim=ndim, rows=rows, dtype=np.float64)
