"""Suggest which order to match and what error to expect, from the sizes and the smoothness of the function alone.

The mean over a random subset has an error of sqrt((1 - size/n) / size) standard deviations. Matching moments up to
order k in cells of side h (the cube being 1) multiplies that by about (.39 m^.31 h)^(k+1) for a smooth function of m
dimensions: what a polynomial of degree k misses. A higher order needs more points per cell, hence fewer and larger
cells, so the best order grows slowly with the size. A kink is not polynomial: the cells it cuts add an error of
.06 h^1.5 at any order (and make it 1.6 h^1.5 at order 1), so no order beyond 2 helps.

The constants are fits to measurements (sigmoids and ReLUs of uniform points in 1 to 4 dimensions, 200 to 5,000 points
kept of 2,000 to 40,000, orders 1 to 8), which scatter around these rules by a factor of 1.9.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...core import checks
from ...core.errors import InputError
from .moment_table import count, fitting_order

__all__ = ["KINKED", "SMOOTH", "Advice", "advise"]

SMOOTH = ("smooth", "sigmoid", "tanh", "gelu", "silu", "softplus", "mish")
KINKED = ("relu", "leaky_relu", "prelu", "relu6", "hardtanh")
_HIGHEST = 10  # order; no measurements beyond it
_ALIKE = 2.0  # errors within this factor are indistinguishable: the lower order is cheaper
_FLOOR = 1e-15  # rounding
_REACH, _GROWTH = 0.39, 0.31
_KINK_FIRST, _KINK = 1.6, 0.06  # times h^1.5: order 1, and orders 2 and up
_KINK_ORDER = 2


@dataclass(frozen=True)
class Advice:
    """An order, and the reasons for it.

    Attributes
    ----------
    order
        The order to match.
    error
        The expected error of the mean of a function over the points, in standard deviations of the function; within a
        factor of about two for functions that vary once across the points.
    random
        The same for a random subset of this size.
    moments
        Points needed per cell.
    cells
        The number of cells.
    errors
        The expected error of every order that fits.
    reasons
        Sentences that explain the choice.
    """

    order: int
    error: float
    random: float
    moments: int
    cells: int
    errors: Mapping[int, float]
    reasons: tuple[str, ...]


def advise(n: int, m: int, size: int, activation: str = "smooth", *, targets: int = 0) -> Advice:
    """Suggest the order of moments to match.

    Parameters
    ----------
    n
        The number of points.
    m
        Their dimension.
    size
        The number of points to keep.
    activation
        What the function to preserve is made of: `smooth` or the name of a smooth activation, or `relu` or another
        with a kink.
    targets
        The number of targets, if `compress` is given targets.

    Returns
    -------
    Advice
        The order, the expected error, and the reasons.

    Raises
    ------
    InputError
        If an argument is out of range, or `size` is too small for the first moments.

    Examples
    --------
    >>> advise(10_000, 3, 1000).order, advise(10_000, 3, 1000, "relu").order
    (7, 2)
    """
    owner = "advise"
    n = checks.integer("n", owner, n, low=1)
    m = checks.integer("m", owner, m, low=1)
    size = checks.integer("size", owner, size, low=1)
    targets = checks.integer("targets", owner, targets, low=0)
    checks.choice("activation", owner, activation, SMOOTH + KINKED)
    fits = fitting_order(m, size, targets)
    if not fits:
        raise InputError(
            f"size of {owner} must be at least {count(m, 1, targets)} to match even the first moments in {m} "
            f"dimension(s); got {size}: keep more points, or reduce their dimensions."
        )
    kinked = activation in KINKED
    random = math.sqrt(max(0.0, 1 - size / n) / size)
    errors = {
        order: max(_FLOOR, random * min(1.0, _gain(m, size // count(m, order, targets), order, kinked)))
        for order in range(1, min(fits, _HIGHEST) + 1)
    }
    open_to = {k: error for k, error in errors.items() if not kinked or k <= _KINK_ORDER}
    order = next(k for k, error in open_to.items() if error <= _ALIKE * min(open_to.values()))
    moments = count(m, order, targets)
    cells = size // moments
    reasons = _reasons(activation, kinked, order, errors, m, cells, moments)
    return Advice(order, errors[order], random, moments, cells, errors, reasons)


def _gain(m: int, cells: int, order: int, kinked: bool) -> float:
    """The error relative to that of a random subset."""
    side = cells ** (-1.0 / m)
    smooth = float((_REACH * m**_GROWTH * side) ** (order + 1))
    if not kinked:
        return smooth
    return float(_KINK_FIRST * side**1.5 if order == 1 else smooth + _KINK * side**1.5)


def _reasons(
    activation: str, kinked: bool, order: int, errors: Mapping[int, float], m: int, cells: int, moments: int
) -> tuple[str, ...]:
    told = [f"Order {order} in {m} dimension(s) needs {moments} points per cell, which gives {cells} cell(s)."]
    if kinked:
        told.append(f"{activation} has a kink: orders beyond {_KINK_ORDER} need larger cells and gain nothing.")
    elif order == max(errors) < _HIGHEST:
        told.append(f"No higher order fits: order {order + 1} needs more points than are kept.")
    elif errors[order] == _FLOOR:
        told.append("The error is at the level of rounding; no higher order can do better.")
    elif order == _HIGHEST:
        told.append(f"There are no measurements beyond order {_HIGHEST}.")
    else:
        told.append("Higher orders need cells so large that they gain less than a factor of two, or lose.")
    if cells.bit_length() <= m:  # fewer than 2^m
        told.append(
            f"With fewer than 2^{m} cells some directions are never cut: anything but a polynomial of degree {order} "
            f"is preserved little better than by chance, as is usual in many dimensions."
        )
    return tuple(told)
