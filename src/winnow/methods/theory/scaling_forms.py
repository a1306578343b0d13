"""The curves that `fit_scaling` compares, and their batched least-squares fits on log error.

Sizes enter as t, the log size rescaled to run from 0 at the smallest size to 1 at the largest, so that no
fit depends on the unit of size. L is the length of that range in log size. Three of the four forms are one family,

    log e = A - D h(t; g),    h = (exp(g t) - 1) / (exp(g) - 1),

a straight fall by D bent by g: g = 0 is the power law, g = L the exponential, g = b L the stretched exponential
with exponent b. The power law with a floor is

    log e = A + log(exp(q) + exp(-B (t - 1))) - log(exp(q) + 1),

with B the fall of its power part and q the log odds of the floor's share of the error at the largest size.
A is linear and never searched for. For the straight forms D is linear too and the fit is exact. The two bent ones
start from the best cells of a grid over their two shape parameters and are refined by a damped Gauss-Newton
iteration with bounds. A batch of error vectors (the bootstrap) is fitted at once.

To add a form: write its curve with derivatives, its fit and its parameters in the user's units, and add it to `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .least_squares import polished

__all__ = ["FORMS", "Axis", "Form", "Measurements"]

Array = NDArray[np.float64]
Curve = Callable[[Array, Array], tuple[Array, Array]]

_FALLS = (0.01, 40.0)  # bounds of B: from a power part that is almost flat to one that vanishes after one size
_ODDS = (-18.0, 45.0)  # bounds of q: a floor of 1e-8 of the error, and one that hides all but the steepest fall
_BENDS = (0.1, 4.0)  # bounds of the stretched exponent b; below, it is the power law with an absurd c
_LARGEST = 700.0  # the log of the largest c or n0 reported; only parameters are capped, never predictions
_CELLS = 2_000_000  # numbers held at once in a batch


@dataclass(frozen=True)
class Axis:
    """The range of log sizes that a fit is scaled to."""

    low: float
    span: float

    def place(self, sizes: Array) -> Array:
        """Rescale sizes: 0 for the smallest measured, 1 for the largest."""
        return np.asarray((np.log(sizes) - self.low) / self.span)


@dataclass(frozen=True)
class Measurements:
    """Measurements in order of size, and what the fits need from them: means of log error at the distinct sizes."""

    logs: Array
    first: NDArray[np.intp]
    counts: Array
    places: Array
    axis: Axis

    @classmethod
    def of(cls, sizes: Array, errors: Array) -> Measurements:
        """Order, take logs and find the range."""
        # Sorted by error too, so that the order of the caller's rows does not affect the bootstrap.
        order = np.lexsort((errors, sizes))
        distinct, first, counts = np.unique(sizes[order], return_index=True, return_counts=True)
        low = float(np.log(distinct[0]))
        axis = Axis(low, float(np.log(distinct[-1])) - low)
        return cls(np.log(errors[order]), first, counts.astype(np.float64), axis.place(distinct), axis)

    @property
    def total(self) -> float:
        """The sum of squares about a constant."""
        return float(((self.logs - self.logs.mean()) ** 2).sum())

    def means(self, logs: Array) -> Array:
        """Means at the distinct sizes; least squares on them, weighted by counts, is least squares on all runs."""
        return np.asarray(np.add.reduceat(logs, self.first, axis=1) / self.counts)

    def spread(self, curve: Array) -> Array:
        """Values at the distinct sizes, repeated for every run."""
        return np.repeat(curve, self.counts.astype(np.intp))


@dataclass(frozen=True)
class Form:
    """One family of curves: its fit in scaled parameters (rows of three) and their meaning in the user's units."""

    name: str
    formula: str
    names: tuple[str, ...]
    curve: Curve
    fit: Callable[[Array, Array, Array, Axis, int], Array]
    parameters: Callable[[Array, Axis], tuple[Array, ...]]

    def log_error(self, theta: Array, t: Array) -> Array:
        """The curve at places `t` (m) for parameter rows `theta` (B, 3), as (B, m)."""
        return np.asarray(theta[:, :1] + self.curve(theta[:, 1:], t)[0])

    def edge(self, theta: Array, axis: Axis) -> str:
        """Describe a fit on the edge of the form; empty if it is inside."""
        if self.name == "floor" and theta[2] == -np.inf:
            return "no floor is found, so it is the power law"
        if self.name == "floor" and theta[1] >= _FALLS[1]:
            return "it falls after the smallest size and is flat afterwards"
        ends = [f"at its bound {end:g}" for end in _BENDS if abs(theta[2] / axis.span / end - 1.0) < 1e-9]
        return f"its exponent is {ends[0]}" if self.name == "stretched" and ends else ""

    def fit_many(self, t: Array, logs: Array, counts: Array, axis: Axis, starts: int = 1) -> Array:
        """Parameter rows (B, 3) for rows of mean log errors `logs` (B, m) at places `t`, of `counts` runs each."""
        rows = max(1, _CELLS // (8 * t.size + 2000))
        share = counts / counts.sum()
        parts = [self.fit(t, logs[i : i + rows], share, axis, starts) for i in range(0, logs.shape[0], rows)]
        return np.concatenate(parts)


def _bent(shape: Array, t: Array) -> tuple[Array, Array]:
    """-D h(t; g) and its slopes in D and g, for rows (D, g)."""
    fall, bend = shape[:, :1], shape[:, 1:]
    straight = bend == 0.0
    g = np.where(straight, 1.0, bend)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        h = np.where(straight, t, np.expm1(g * t) / np.expm1(g))
        ratio = np.where(t == 0.0, 1.0 / g, t / -np.expm1(-g * t))
        slope = np.where(straight, 0.5 * t * (t - 1.0), h * (ratio + 1.0 / np.expm1(-g)))
    return -fall * h, np.stack([-h, -fall * slope], axis=-1)


def _floored(shape: Array, t: Array) -> tuple[Array, Array]:
    """The floor form less its A, and its slopes in B and q, for rows (B, q)."""
    fall, odds = shape[:, :1], shape[:, 1:]
    power = -fall * (t - 1.0)
    falling = expit(power - odds)
    slopes = np.stack([-(t - 1.0) * falling, 1.0 - falling - expit(odds)], axis=-1)
    return np.logaddexp(odds, power) - np.logaddexp(odds, 0.0), slopes


def _centred(values: Array, share: Array) -> Array:
    return np.asarray(values - (values @ share)[..., None])


def _with_level(curve: Curve, shape: Array, t: Array, logs: Array, share: Array) -> Array:
    """Prepend the best A to each row of shape parameters."""
    level = (logs - curve(shape, t)[0]) @ share
    return np.column_stack([level, shape])


def _straight(bend: Callable[[Axis], float]) -> Callable[[Array, Array, Array, Axis, int], Array]:
    """Return the exact fit at a known bend; a negative fall is outside the form and becomes a flat line."""

    def fit(t: Array, logs: Array, share: Array, axis: Axis, starts: int) -> Array:
        g = bend(axis)
        h = _centred(-_bent(np.array([[1.0, g]]), t)[0], share)[0]
        fall = np.maximum(-(logs @ (share * h)) / (share @ h**2), 0.0)
        return _with_level(_bent, np.column_stack([fall, np.full_like(fall, g)]), t, logs, share)

    return fit


def _fit_stretched(t: Array, logs: Array, share: Array, axis: Axis, starts: int) -> Array:
    low, high = _BENDS[0] * axis.span, _BENDS[1] * axis.span
    bends = np.geomspace(low, high, 64)
    h = _centred(-_bent(np.column_stack([np.ones_like(bends), bends]), t)[0], share)
    norms = h**2 @ share
    falls = np.maximum(-(logs * share) @ h.T / norms, 0.0)
    cells = np.argsort(-(falls**2) * norms, axis=1, kind="stable")[:, :starts]
    begin = np.stack([np.take_along_axis(falls, cells, axis=1), bends[cells]], axis=-1)
    shape = _best_polish(_bent, begin, t, logs, share, np.array([0.0, low]), np.array([np.inf, high]))
    return _with_level(_bent, shape, t, logs, share)


def _fit_floor(t: Array, logs: Array, share: Array, axis: Axis, starts: int) -> Array:
    falls = np.repeat(np.geomspace(0.05, _FALLS[1], 40), 40)
    odds = -7.0 + np.tile(np.linspace(0.0, 1.0, 40), 40) * (falls + 10.0)
    grid = np.column_stack([falls, odds])
    curves = _centred(_floored(grid, t)[0], share)
    costs = curves**2 @ share - 2.0 * (logs * share) @ curves.T
    cells = np.argsort(costs, axis=1, kind="stable")[:, :starts] if starts > 1 else costs.argmin(axis=1)[:, None]
    low, high = np.array([_FALLS[0], _ODDS[0]]), np.array([_FALLS[1], _ODDS[1]])
    shape = _best_polish(_floored, grid[cells], t, logs, share, low, high)
    # No floor at all is the edge q -> -inf, which no iteration reaches: there the form is the power law.
    bare = _straight(lambda _: 0.0)(t, logs, share, axis, 1)[:, 1:]
    bare[:, 1] = -np.inf
    none = _cost(_floored, bare, t, logs, share) <= _cost(_floored, shape, t, logs, share) * (1.0 + 1e-10)
    return _with_level(_floored, np.where(none[:, None], bare, shape), t, logs, share)


def _cost(curve: Curve, shape: Array, t: Array, logs: Array, share: Array) -> Array:
    return np.asarray(_centred(logs - curve(shape, t)[0], share) ** 2 @ share)


def _best_polish(
    curve: Curve, begin: Array, t: Array, logs: Array, share: Array, low: Array, high: Array
) -> NDArray[np.float64]:
    """Refine every start (B, starts, 2) and keep the best per row."""
    rows, starts = begin.shape[:2]
    repeated = np.repeat(logs, starts, axis=0)

    def residuals(shape: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        value, slopes = curve(shape, t)  # centred, for the best A goes with every shape
        centred = slopes - np.einsum("bmk,m->bk", slopes, share)[:, None, :]
        return _centred(repeated[which] - value, share), centred

    ends = polished(residuals, begin.reshape(-1, 2), share, low, high)
    costs = _cost(curve, ends, t, repeated, share).reshape(rows, starts)
    return np.asarray(ends.reshape(rows, starts, 2)[np.arange(rows), costs.argmin(axis=1)])


def _capped_exp(logs: Array) -> Array:
    return np.asarray(np.exp(np.minimum(logs, _LARGEST)))


def _power_parameters(theta: Array, axis: Axis) -> tuple[Array, ...]:
    exponent = theta[:, 1] / axis.span
    return _capped_exp(theta[:, 0] + exponent * axis.low), exponent


def _exponential_parameters(theta: Array, axis: Axis) -> tuple[Array, ...]:
    rate = theta[:, 1] / np.expm1(axis.span)  # the smallest size over n0
    with np.errstate(divide="ignore"):
        return _capped_exp(theta[:, 0] + rate), np.exp(axis.low) / rate


def _stretched_parameters(theta: Array, axis: Axis) -> tuple[Array, ...]:
    rate = theta[:, 1] / np.expm1(theta[:, 2])  # the smallest size over n0, to the power b
    exponent = theta[:, 2] / axis.span
    with np.errstate(divide="ignore"):
        scale = _capped_exp(axis.low - np.log(rate) / exponent)
    return _capped_exp(theta[:, 0] + rate), np.where(rate > 0.0, scale, np.inf), exponent


def _floor_parameters(theta: Array, axis: Axis) -> tuple[Array, ...]:
    exponent = theta[:, 1] / axis.span
    power = theta[:, 0] - np.logaddexp(theta[:, 2], 0.0)  # the log of the power part at the largest size
    return np.exp(power + theta[:, 2]), _capped_exp(power + exponent * (axis.low + axis.span)), exponent


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("power", "e = c n^-b", ("c", "b"), _bent, _straight(lambda _: 0.0), _power_parameters),
        Form("floor", "e = e0 + c n^-b", ("e0", "c", "b"), _floored, _fit_floor, _floor_parameters),
        Form(
            "exponential",
            "e = c exp(-n / n0)",
            ("c", "n0"),
            _bent,
            _straight(lambda axis: axis.span),
            _exponential_parameters,
        ),
        Form("stretched", "e = c exp(-(n / n0)^b)", ("c", "n0", "b"), _bent, _fit_stretched, _stretched_parameters),
    )
}
