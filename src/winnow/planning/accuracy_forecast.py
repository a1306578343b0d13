"""The learning curve of random parts, fitted to a pilot's numbers. Nothing is trained here.

Its shape is that of the perceptron theory of pruning. The theory assumes one teacher, two classes and Gaussian inputs.
Real data satisfies none of this, so two numbers are fitted, and the theory supplies the curve in between:

    error of a student on n examples     e(n) = e0 + (c0 - e0) 2 eps((n / N)^b)
    error on a random part f of n        e(f n)
    error after keeping the hardest f    e0 + (e(f n) - e0) eps(f a; keep f, angle of the probe, hard) / eps(f a)

with eps the theory's error, c0 the error of always predicting the largest class, N the effective dimension, and
a = (n / N)^b. Two calibrations are fitted to the same learning curve and combined by their Akaike weights: `floor`
(b = 1, with an irreducible error e0) and `exponent` (e0 = 0, with a fitted rate b).

The last line is what the theory says of keeping the hardest. Where it was compared with trainings it was far off, so a
plan only mentions it: chosen subsets are forecast from pilot subsets that were trained (`pilot_gains`). For b = 1 it is
the theory itself, e0 + (c0 - e0) 2 eps(f a; ...). For any b, a useless probe gives the error of a random part, and no
figure is better than the theory allows relative to the full data, nor worse than chance.

The angle of the probe comes from the agreement of probes (`agreement`). The theory's probe has not seen the examples it
ranks and does not know their labels. Real scores have and do, which this ignores.

All replicates are computed at once: row 0 is the estimate, the others are its bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "FORMS",
    "KEEPS",
    "Calibration",
    "angle_reached",
    "calibrate",
    "hard_error",
    "unpruned",
]

Array = NDArray[np.float64]

FORMS = ("floor", "exponent")
KEEPS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)  # the fractions to forecast
ALPHAS = (1e-5, 1e7)  # beyond, the theory's curve has reached its limits
EXPONENTS = (0.05, 4.0)  # of the calibration: below 0.05 nothing is learned, above 4 it is no power law
GRID, STARTS = (24, 12), 4  # points of the starting grid, and starts of each fit
NEWTON, STEP = 12, 1e-4  # last steps of each fit, and the distance over which their curvature is measured
EXACT = 1e-8  # smaller scatter of the log error is rounding, and must not decide between the calibrations


# ---------------------------------------------------------------- the learning curve


@cache
def _unpruned() -> Any:
    from scipy.interpolate import CubicSpline

    from ..methods.theory.solve import learning_curve  # compiled on import, so only imported when planning

    log_alpha = np.linspace(math.log(ALPHAS[0]), math.log(ALPHAS[1]), 361)
    return CubicSpline(log_alpha, np.log(learning_curve(np.exp(log_alpha)).error))


def unpruned(log_alpha: Array) -> tuple[Array, Array]:
    """Log of the theory's error without pruning, and its slope, at log alpha (clipped to the tabulated range)."""
    where = np.clip(log_alpha, math.log(ALPHAS[0]), math.log(ALPHAS[1]))
    spline = _unpruned()
    return spline(where), spline(where, 1)


@dataclass(frozen=True)
class Calibration:
    """One form fitted to a learning curve; every array has one entry per replicate.

    Attributes
    ----------
    form
        `floor` or `exponent`.
    dimension, exponent, floor
        N, b and e0.
    chance
        c0.
    rss
        Residual sum of squares of the log error, over all trainings.
    weight
        Akaike weight among the forms fitted together.
    """

    form: str
    dimension: Array
    exponent: Array
    floor: Array
    chance: float
    rss: Array
    weight: Array

    def alpha(self, size: float) -> Array:
        """Effective examples per dimension of a training on `size` examples."""
        return np.asarray(np.clip((size / self.dimension) ** self.exponent, *ALPHAS))

    def error(self, eps: Array) -> Array:
        """The error on real data that corresponds to the theory's error `eps`."""
        return np.asarray(self.floor + (self.chance - self.floor) * 2 * eps)

    def unpruned_error(self, size: float) -> Array:
        """The error of a student on `size` random examples."""
        return self.error(np.exp(unpruned(np.log(self.alpha(size)))[0]))


def calibrate(
    sizes: ArrayLike, log_errors: ArrayLike, counts: ArrayLike, scatter: ArrayLike, chance: float
) -> list[Calibration]:
    """Fit both forms by least squares on log error, for every replicate, with their Akaike weights (AICc).

    Parameters
    ----------
    sizes
        Examples trained on, increasing.
    log_errors
        Mean log error at each size: replicates x sizes.
    counts
        Number of trainings behind each mean.
    scatter
        Sum of squares of the log error within sizes, one per replicate.
    chance
        The error of always predicting the largest class.
    """
    n = np.asarray(sizes, dtype=np.float64)
    y = np.atleast_2d(np.asarray(log_errors, dtype=np.float64))
    w = np.asarray(counts, dtype=np.float64)
    within = np.broadcast_to(np.asarray(scatter, dtype=np.float64), y.shape[:1])
    fits = [_fit(form, np.log(n), y, w, chance) for form in FORMS]
    total = float(w.sum())
    rss = np.stack([fit[3] for fit in fits]) + within
    # Both forms have two parameters and the scatter, so the AICc penalty is the same and only the fit matters.
    aicc = total * np.log(np.maximum(rss / total, EXACT**2))
    evidence = np.exp(-(aicc - aicc.min(0)) / 2)
    shares = evidence / evidence.sum(0)
    return [
        Calibration(form, fit[0], fit[1], fit[2], chance, total_rss, share)
        for form, fit, total_rss, share in zip(FORMS, fits, rss, shares, strict=True)
    ]


def _fit(form: str, log_n: Array, y: Array, w: Array, chance: float) -> tuple[Array, Array, Array, Array]:
    """N, b, e0 and the weighted sum of squares for each row of `y`: damped Gauss-Newton from the dips of a grid."""
    from ..methods.theory.least_squares import polished

    low = np.array([log_n[0] - 12.0, -9.0 if form == "floor" else math.log(EXPONENTS[0])])
    high = np.array([log_n[-1] + 5.0, 9.0 if form == "floor" else math.log(EXPONENTS[1])])
    # The floor is a logistic share of the lowest error seen, so that every step stays feasible.
    top = np.minimum(np.exp(y.min(1)), 0.99 * chance) if form == "floor" else np.zeros(y.shape[0])
    start = np.concatenate([_dips(form, one, log_n, w, low, high, t, chance) for one, t in zip(y, top, strict=True)])
    many, tops = np.repeat(y, STARTS, 0), np.repeat(top, STARTS)

    def residuals(theta: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        found, slopes = _predict(form, theta, log_n, tops[which], chance)
        return many[which] - found, slopes

    tried = polished(residuals, start, w, low, high)
    missed = (w * (_predict(form, tried, log_n, tops, chance)[0] - many) ** 2).sum(1)
    best = missed.reshape(-1, STARTS).argmin(1) + STARTS * np.arange(len(y))
    theta = _newton(lambda at: _gradient(form, at, log_n, y, w, top, chance), tried[best], low, high)
    missed = np.minimum(missed[best], _gradient(form, theta, log_n, y, w, top, chance)[0])
    share = top / (1 + np.exp(-theta[:, 1])) if form == "floor" else top
    exponent = np.ones(len(theta)) if form == "floor" else np.exp(theta[:, 1])
    return np.exp(theta[:, 0]), exponent, share, missed


def _gradient(
    form: str, theta: Array, log_n: Array, y: Array, w: Array, top: Array, chance: float
) -> tuple[Array, Array]:
    """The weighted sum of squares of each row and half its gradient."""
    found, slopes = _predict(form, theta, log_n, top, chance)
    return (w * (found - y) ** 2).sum(1), np.einsum("bmk,bm->bk", slopes, w * (found - y))


def _newton(function: Callable[[Array], tuple[Array, Array]], begin: Array, low: Array, high: Array) -> Array:
    """A few Newton steps, each taken only where it lowers the cost.

    Where no curve fits well, Gauss-Newton creeps along the valley: it leaves out the curvature of the model.
    """
    at = begin
    cost, slope = function(at)
    for _ in range(NEWTON):
        ends = [function(np.clip(at + sign * STEP * axis, low, high))[1] for axis in np.eye(2) for sign in (1, -1)]
        bend = np.stack([ends[0] - ends[1], ends[2] - ends[3]], 1) / (2 * STEP)
        a, b, c = bend[:, 0, 0], (bend[:, 0, 1] + bend[:, 1, 0]) / 2, bend[:, 1, 1]
        det = a * c - b**2
        bowl = (a > 0) & (det > 1e-12 * a * np.abs(c))
        safe = np.where(bowl, det, 1.0)
        step = np.stack([c * slope[:, 0] - b * slope[:, 1], a * slope[:, 1] - b * slope[:, 0]], 1) / safe[:, None]
        trial = np.clip(at - np.where(bowl[:, None], step, 0.0), low, high)
        after, steeper = function(trial)
        better = after < cost
        if not better.any():
            break
        at, slope = np.where(better[:, None], trial, at), np.where(better[:, None], steeper, slope)
        cost = np.where(better, after, cost)
    return at


def _dips(form: str, y: Array, log_n: Array, w: Array, low: Array, high: Array, top: float, chance: float) -> Array:
    """Where to start: the lowest points of a grid that are no higher than their neighbours.

    The best grid point alone is sometimes in the wrong one of two valleys. If there are fewer dips than starts, the
    lowest one is repeated.
    """
    axes = np.linspace(low[0], high[0], GRID[0]), np.linspace(low[1], high[1], GRID[1])
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    tried = _predict(form, grid, log_n, np.full(len(grid), top), chance)[0]
    cost = (w * (tried - y) ** 2).sum(1).reshape(GRID)
    around = np.pad(cost, 1, constant_values=np.inf)
    beside = np.min(
        [around[1 + i : 1 + i + GRID[0], 1 + j : 1 + j + GRID[1]] for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0
    )
    dips = np.flatnonzero(cost <= beside)
    lowest = dips[np.argsort(cost.ravel()[dips], kind="stable")][:STARTS]
    return np.asarray(grid[np.concatenate([lowest, np.repeat(lowest[:1], STARTS - lowest.size)])])


def _predict(form: str, theta: Array, log_n: Array, top: Array, chance: float) -> tuple[Array, Array]:
    """Log errors (rows x sizes) and their derivatives with respect to both parameters (rows x sizes x 2)."""
    away = log_n[None, :] - theta[:, :1]
    if form == "exponent":
        b = np.exp(theta[:, 1:])
        log_eps, slope = unpruned(b * away)
        rate = np.stack([-slope * b, slope * b * away], -1)
        return math.log(2 * chance) + log_eps, rate
    log_eps, slope = unpruned(away)
    share = 1 / (1 + np.exp(-theta[:, 1]))
    floor = (top * share)[:, None]
    shape = 2 * np.exp(log_eps)
    error = floor + (chance - floor) * shape
    by_floor = (1 - shape) * (top * share * (1 - share))[:, None]
    return np.log(error), np.stack([-(chance - floor) * shape * slope / error, by_floor / error], -1)


# ---------------------------------------------------------------- the theory of hard examples


def angle_reached(fit: Calibration, measured: Array, at: float, size: float) -> Array:
    """The angle of a probe trained on `size` examples, from the measured angle of probes trained on `at`.

    The angle of a max-margin probe is pi eps, so it shrinks with the error.
    """
    ratio = unpruned(np.log(fit.alpha(size)))[0] - unpruned(np.log(fit.alpha(at)))[0]
    return np.asarray(np.clip(measured * np.exp(ratio), 0.0, 90.0))


def hard_error(fit: Calibration, size: float, keep: float, angle: float) -> float:
    """The theory's error after keeping the hardest `keep` of `size` examples, for the estimate (replicate 0)."""
    from ..methods.theory.solve import solve

    random, floor = float(fit.unpruned_error(keep * size)[0]), float(fit.floor[0])
    if keep == 1.0:
        return random
    alpha = keep * float(fit.alpha(size)[0])
    eps = solve(alpha, keep, angle, "hard").error
    whole = float(np.exp(unpruned(np.log(fit.alpha(size)))[0])[0])
    better = eps / float(np.exp(unpruned(np.log(np.array([alpha])))[0])[0])
    best = float(fit.error(np.array([min(eps, whole)]))[0])
    return float(np.clip(floor + (random - floor) * better, best, fit.chance))
