"""The best choices according to the theory: the best window, the best fraction, and the frontier over all sizes.

"What is the best fraction to keep?" has no answer by itself. At a fixed number of kept examples (alpha above 2) and
with a perfect probe, the error is proportional to the fraction kept: gathering more data and keeping ever less of it
always helps. A best fraction exists once something limits that: the amount of data (`total`), a smallest fraction
(`smallest`), or a probe that is off by an `angle`. These functions require one of the three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from ...core import checks
from ...core.errors import InputError, WinnowError
from .policies import Window
from .solve import learning_curve, solve

__all__ = ["BestKeep", "BestWindow", "Frontier", "best_keep", "frontier", "optimal_window"]

Array = NDArray[np.float64]
Objective = Callable[[float], float]

_SCAN = 33  # points at which a curve is scanned before its best stretch is refined
_LEAST = 1e-4  # with an imperfect probe the error no longer changes below this fraction
_FEWEST = 0.5  # with fewer examples per dimension, no pruned set is as good as a full set worth pruning
_CROSSOVER = 2.0  # from this alpha on, at a perfect probe, ever thinner slices teach ever more
_FLAT = 1e-9  # relative differences of error below this are rounding


@dataclass(frozen=True)
class BestWindow:
    """The window of difficulty with the lowest error, and the errors of hard and easy for comparison."""

    a: float
    b: float
    error: float
    alpha: float
    keep: float
    angle: float
    hard_error: float
    easy_error: float

    @property
    def policy(self) -> Window:
        """The window, as a policy for `solve` and `simulate`."""
        return Window(self.a, self.b)


@dataclass(frozen=True)
class BestKeep:
    """The fraction to keep.

    Attributes
    ----------
    keep, alpha, error
        The fraction, the number of examples per dimension it leaves, and their error.
    random_error
        The error of the same number of random examples.
    full_error
        The error of all the data; None if no total was given.
    bound
        What determined the answer: "interior" (more or less would be worse), "total" (all available data were
        ranked), "smallest" (the smallest fraction allowed), "flat" (a smaller fraction makes no difference), "all"
        (keep everything) or "within" (the smallest fraction whose extra error is within the limit).
    """

    keep: float
    alpha: float
    error: float
    random_error: float
    full_error: float | None
    bound: str


@dataclass(frozen=True)
class Frontier:
    """The lowest error for each number of kept examples, and the fraction that achieves it."""

    alpha: Array
    keep: Array
    error: Array
    random_error: Array
    angle: float
    policy: str
    total: float | None
    smallest: float | None

    def __len__(self) -> int:
        return len(self.alpha)


def optimal_window(alpha: float, keep: float, angle: float = 0.0) -> BestWindow:
    """Find the window a < |margin| < b with the lowest error, for a given fraction and number of kept examples.

    Parameters
    ----------
    alpha
        Kept examples per dimension.
    keep
        Fraction kept.
    angle
        Degrees between probe and teacher.

    Returns
    -------
    BestWindow
        The ends of the window, its error, and the errors of the policies it is compared with.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> best = optimal_window(2, keep=0.2)
    >>> round(best.a, 3), round(best.b, 3), round(best.error, 5)
    (0.595, 0.932, 0.06148)
    """
    alpha = checks.number("alpha", "optimal_window", alpha, low=0.0, open_low=True)
    keep = checks.fraction("keep", "optimal_window", keep)
    angle = checks.number("angle", "optimal_window", angle, low=0.0, high=90.0)
    hard, easy = (solve(alpha, keep, angle, policy).error for policy in ("hard", "easy"))
    spare = 1.0 - keep
    best = 0.0
    if spare > 1e-12:
        best, _ = _lowest(lambda h: _window_error(alpha, keep, angle, h), np.linspace(0.0, spare, _SCAN))
    chosen = Window.dropping(best, keep)
    return BestWindow(chosen.a, chosen.b, _window_error(alpha, keep, angle, best), alpha, keep, angle, hard, easy)


def best_keep(
    alpha: float | None = None,
    *,
    total: float | None = None,
    angle: float = 0.0,
    smallest: float | None = None,
    within: float = 0.01,
) -> BestKeep:
    """Find the fraction of hard examples to keep.

    With `alpha`, the number of kept examples is fixed and the pool they come from may grow: returns the fraction with
    the lowest error. Without `alpha`, the pool (`total`) is fixed: returns the smallest fraction whose error is
    `within` that of all the data.

    Parameters
    ----------
    alpha
        Kept examples per dimension, if that number is fixed.
    total
        Examples per dimension before pruning.
    angle
        Degrees between probe and teacher.
    smallest
        The smallest fraction allowed.
    within
        How much larger the error may be than that of all the data, relative to it. Used only without `alpha`.

    Returns
    -------
    BestKeep
        The fraction, its error, and what determined it.

    Raises
    ------
    InputError
        If an argument is out of range, if neither `alpha` nor `total` is given, or if no best fraction exists.

    Examples
    --------
    >>> round(best_keep(5, angle=10).keep, 2)
    0.19
    >>> round(best_keep(total=100).alpha, 1)
    3.7
    """
    angle = checks.number("angle", "best_keep", angle, low=0.0, high=90.0)
    total = _optional("total", "best_keep", total)
    smallest = None if smallest is None else checks.fraction("smallest", "best_keep", smallest)
    if alpha is None:
        within = checks.number("within", "best_keep", within, low=0.0, open_low=True)
        return _of_total("best_keep", total, angle, smallest, within)
    alpha = checks.number("alpha", "best_keep", alpha, low=0.0, open_low=True)
    least = _least("best_keep", alpha, total, smallest, angle)
    log_keep, on_end = _lowest(lambda x: solve(alpha, float(np.exp(x)), angle).error, _log_grid(least))
    keep = least if on_end == "low" else 1.0 if on_end == "high" else float(np.exp(log_keep))
    bound = {"": "interior", "high": "all", "low": _floor_name(least, alpha, total, smallest)}[on_end]
    whole = None if total is None else solve(total).error
    return BestKeep(keep, alpha, solve(alpha, keep, angle).error, solve(alpha).error, whole, bound)


def frontier(
    alphas: ArrayLike,
    *,
    total: float | None = None,
    smallest: float | None = None,
    angle: float = 0.0,
    policy: str = "hard",
) -> Frontier:
    """Compute the lowest error at each number of kept examples, over all fractions the data allow.

    Parameters
    ----------
    alphas
        Kept examples per dimension.
    total
        Examples per dimension before pruning. It excludes fractions below alpha / total.
    smallest
        The smallest fraction allowed.
    angle
        Degrees between probe and teacher.
    policy
        "hard", "easy", or "window" for the best window at every fraction.

    Returns
    -------
    Frontier
        The best fraction and its error for each alpha, with the error of random examples for comparison.

    Raises
    ------
    InputError
        If an argument is out of range, or if nothing limits the fraction from below.

    Examples
    --------
    >>> frontier([1, 3], total=20).keep.round(3).tolist()
    [0.95, 0.15]
    """
    points = checks.array("alphas", "frontier", alphas, ndim=1, dtype=np.float64)
    checks.number("alphas", "frontier", float(points.min()), low=0.0, open_low=True)
    angle = checks.number("angle", "frontier", angle, low=0.0, high=90.0)
    total = _optional("total", "frontier", total)
    smallest = None if smallest is None else checks.fraction("smallest", "frontier", smallest)
    checks.choice("policy", "frontier", policy, ("hard", "easy", "window"))
    keeps, errors = np.empty(points.size), np.empty(points.size)
    for i, alpha in enumerate(points.tolist()):
        least = _least("frontier", alpha, total, smallest, angle)
        log_keep, on_end = _lowest(_error_of_keep(alpha, angle, policy), _log_grid(least))
        keeps[i] = least if on_end == "low" else 1.0 if on_end == "high" else float(np.exp(log_keep))
        errors[i] = _error_of_keep(alpha, angle, policy)(float(np.log(keeps[i])))
    return Frontier(points, keeps, errors, learning_curve(points).error, angle, policy, total, smallest)


def _of_total(owner: str, total: float | None, angle: float, smallest: float | None, within: float) -> BestKeep:
    if total is None:
        raise InputError(
            f"alpha or total of {owner} must be given: the examples per dimension to keep, or those available; "
            "got neither."
        )
    whole = solve(total).error
    limit = (1.0 + within) * whole
    floor = smallest if smallest is not None else min(1.0, max(_LEAST, _FEWEST / total) if angle else _FEWEST / total)

    def excess(x: float) -> float:
        keep = float(np.exp(x))
        return solve(keep * total, keep, angle).error - limit

    grid = _log_grid(floor, 2 * _SCAN)
    over = np.array([excess(float(x)) > 0.0 for x in grid])
    if not over.any():
        keep, bound = floor, "smallest" if smallest is not None else "within"
    elif not over[-1]:
        last = int(np.flatnonzero(over)[-1])  # every larger fraction is good enough
        keep, bound = float(np.exp(brentq(excess, grid[last], grid[last + 1], xtol=1e-10))), "within"
    else:
        keep, bound = 1.0, "all"
    alpha = keep * total
    return BestKeep(keep, alpha, solve(alpha, keep, angle).error, solve(alpha).error, whole, bound)


def _least(owner: str, alpha: float, total: float | None, smallest: float | None, angle: float) -> float:
    """Return the smallest fraction to consider; raise if nothing limits it."""
    if total is None and smallest is None and angle == 0.0 and alpha >= _CROSSOVER:
        raise InputError(
            f"total (examples per dimension available) or smallest (the smallest fraction allowed) of {owner} must be "
            f"given: with a perfect probe and alpha={alpha:g} fixed, the error falls with the fraction all the way to "
            "0, so there is no best one; got neither."
        )
    if total is not None and alpha > total:
        raise InputError(f"alpha of {owner} must be at most total={total:g}; got {alpha:g}.")
    if total is None and smallest is None:
        return _LEAST
    return max(0.0 if total is None else alpha / total, 0.0 if smallest is None else smallest)


def _floor_name(least: float, alpha: float, total: float | None, smallest: float | None) -> str:
    if total is not None and least == alpha / total:
        return "total"
    return "flat" if smallest is None else "smallest"


def _optional(name: str, owner: str, value: float | None) -> float | None:
    return None if value is None else checks.number(name, owner, value, low=0.0, open_low=True)


def _log_grid(least: float, points: int = _SCAN) -> Array:
    return np.linspace(np.log(least), 0.0, points)


def _window_error(alpha: float, keep: float, angle: float, hardest: float) -> float:
    return solve(alpha, angle=angle, policy=Window.dropping(hardest, keep)).error


def _error_of_keep(alpha: float, angle: float, policy: str) -> Objective:
    """Return the error as a function of the log of the fraction kept."""
    if policy == "window":
        return lambda x: optimal_window(alpha, min(1.0, float(np.exp(x))), angle).error
    return lambda x: solve(alpha, min(1.0, float(np.exp(x))), angle, policy).error


def _lowest(of: Objective, grid: Array) -> tuple[float, str]:
    """Find where a smooth curve is lowest, by refining the best stretch of a scan, and which end it is on, if any."""
    if grid[0] >= grid[-1]:
        return float(grid[0]), "low"
    values = np.array([_or_infinite(of, float(x)) for x in grid])
    best = int(np.flatnonzero(values <= (1.0 + _FLAT) * values.min())[-1])  # of ties the last, which keeps most
    left, right = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    settings = {"xatol": 1e-7 * (right - left)}
    found = minimize_scalar(lambda x: _or_infinite(of, x), bounds=(left, right), method="bounded", options=settings)
    if found.fun < (1.0 - _FLAT) * values[best]:
        return float(found.x), ""
    return float(grid[best]), "low" if best == 0 else "high" if best == grid.size - 1 else ""


def _or_infinite(of: Objective, x: float) -> float:
    """Return the value, or infinity for a slice too thin to solve, so that a minimiser skips it."""
    try:
        return of(x)
    except WinnowError:
        return float("inf")
