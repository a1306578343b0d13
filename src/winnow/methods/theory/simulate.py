"""Simulation: the pruned perceptron, drawn at random and solved exactly, to check the theory.

A draw follows the definition exactly. Examples are standard normal in N dimensions, the teacher is the first axis
(nothing depends on the direction), and the probe lies at an angle to it in the plane of the first two axes. The whole
set is ranked by |margin| along the probe, the policy keeps some ranks, and the max-margin student is found on the kept
examples. Only the probe's margin decides what is kept, so the other coordinates of dropped examples are never drawn.

At finite N the mean error differs from the theory by a term in 1/N; `extrapolate` removes it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ...core import checks, progress, seeds
from ...core.errors import DivergedError, InputError
from .max_margin import SOLVED, solve_rows
from .policies import Window, interval, mass

__all__ = ["Extrapolation", "Simulation", "StandardErrors", "extrapolate", "simulate"]

Array = NDArray[np.float64]
Measured = tuple[float, float, float, float]
_FIELDS = ("error", "R", "rho", "kappa")
_LARGEST = 2**28  # numbers held in memory per draw, 2 GiB
_RANKED = 2**24  # examples ranked per draw, a few seconds of sorting


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of the means of a simulation: standard deviation of the draws / sqrt(number of draws)."""

    error: float
    R: float
    rho: float
    kappa: float


@dataclass(frozen=True)
class Simulation:
    """Students drawn at one point: means over the draws, with standard errors.

    Attributes
    ----------
    alpha, keep, angle, policy, N, draws, seed
        The arguments; for a window, `keep` is the window's own fraction.
    kept, total
        Examples kept and drawn per draw: round(alpha N) and round(alpha N / keep).
    error
        Mean generalisation error, arccos(R) / pi.
    R, rho, kappa
        Mean overlap with the teacher, overlap with the probe, and margin of the unit-length student.
    standard_errors
        The standard error of each of the four means.
    errors
        The error of each draw, read-only.
    """

    alpha: float
    keep: float
    angle: float
    policy: str | Window
    N: int
    draws: int
    seed: int
    kept: int
    total: int
    error: float
    R: float
    rho: float
    kappa: float
    standard_errors: StandardErrors
    errors: Array = field(repr=False, compare=False)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean error."""
        return self.standard_errors.error


@dataclass(frozen=True)
class Extrapolation:
    """The error of simulations extrapolated to N -> infinity.

    Attributes
    ----------
    alpha, keep, angle, policy
        The arguments of the simulations.
    sizes
        The N of each simulation, in increasing order.
    error, standard_error
        The limit and its standard error.
    slope, slope_standard_error
        The coefficient of 1/N and its standard error.
    chi_square, degrees, p_value
        Lack of fit of the straight line, its degrees of freedom, and the probability of a value at least as large if
        the line is right; None, 0 and None with fewer than three different N.
    """

    alpha: float
    keep: float
    angle: float
    policy: str | Window
    sizes: tuple[int, ...]
    error: float
    standard_error: float
    slope: float
    slope_standard_error: float
    chi_square: float | None
    degrees: int
    p_value: float | None


def simulate(
    alpha: float,
    keep: float = 1.0,
    angle: float = 0.0,
    N: int = 200,
    draws: int = 100,
    seed: int = 0,
    policy: str | Window = "hard",
    workers: int | None = None,
) -> Simulation:
    """Draw pruned data sets, find the max-margin student on each, and average.

    The students are exact, so the only uncertainty is that of the draws, given by the standard errors. Each draw
    has its own random stream, keyed by the seed, N and the number of the draw. The number of workers therefore does
    not change the result, and simulations at different N are independent.

    Parameters
    ----------
    alpha
        Examples kept per dimension.
    keep
        The fraction of the data that is kept.
    angle
        The angle between probe and teacher, in degrees.
    N
        The number of dimensions.
    draws
        The number of data sets.
    seed
        Seed of the random streams.
    policy
        "hard", "easy", "random" or a window.
    workers
        The number of threads; None uses one per core.

    Returns
    -------
    Simulation
        Means over the draws with their standard errors, and the error of each draw.

    Raises
    ------
    InputError
        If an argument is out of range, or a draw would keep no example or exceed the memory limit.
    DivergedError
        If a draw could not be solved exactly.

    Examples
    --------
    >>> result = simulate(2, keep=0.5, N=20, draws=10)
    >>> result.kept, result.total, round(result.error, 3)
    (40, 80, 0.144)
    """
    owner = "simulate"
    alpha = checks.number("alpha", owner, alpha, low=0.0, open_low=True)
    fraction = interval(owner, policy, keep)[2]
    keep = fraction if isinstance(policy, Window) else float(keep)
    angle = checks.number("angle", owner, angle, low=0.0, high=90.0)
    N = checks.integer("N", owner, N, low=2)
    draws = checks.integer("draws", owner, draws, low=2, high=10_000_000)
    seed = checks.integer("seed", owner, seed, low=0)
    crew = _cores() if workers is None else checks.integer("workers", owner, workers, low=1)
    kept, total = _sizes(alpha, keep, N)
    first = _first_rank(policy, kept, total)
    one = partial(_draw, seed, N, kept, total, first, math.radians(angle))
    values = np.empty((draws, len(_FIELDS)))
    with progress.task(f"simulating {draws} students", draws) as advance:
        for number, row in enumerate(_in_order(one, draws, min(crew, draws))):
            values[number] = row
            advance(1)
    means = dict(zip(_FIELDS, values.mean(axis=0).tolist(), strict=True))
    spread = dict(zip(_FIELDS, (values.std(axis=0, ddof=1) / math.sqrt(draws)).tolist(), strict=True))
    return Simulation(alpha, keep, angle, policy, N, draws, seed, kept, total, **means,
                      standard_errors=StandardErrors(**spread), errors=checks.frozen(values[:, 0]))  # fmt: skip


def extrapolate(simulations: Iterable[Simulation]) -> Extrapolation:
    """Extrapolate the error to N -> infinity by a straight line in 1/N.

    With x = 1/N, y the mean error and w = 1 / standard error^2 of each simulation, and S_f = sum of w f, weighted
    least squares gives, with D = S_1 S_xx - S_x^2,
      limit = (S_xx S_y - S_x S_xy) / D,   its variance = S_xx / D,
      slope = (S_1 S_xy - S_x S_y) / D,    its variance = S_1 / D.
    The variances come from the standard errors alone; they are not rescaled by the misfit. Lack of fit is chi-square =
    sum of w (y - limit - slope x)^2; its degrees of freedom are the number of simulations minus 2.

    Parameters
    ----------
    simulations
        At two or more different N, all at the same alpha, keep, angle and policy, no two with the same N and seed.

    Returns
    -------
    Extrapolation
        The limit and the slope with their standard errors, and the lack of fit.

    Raises
    ------
    InputError
        If the simulations cannot be combined: fewer than two different N, different settings, or repeated draws.

    Examples
    --------
    >>> limit = extrapolate(simulate(2, N=N, draws=20) for N in (20, 40))
    >>> limit.sizes, round(limit.error, 3)
    ((20, 40), 0.212)
    """
    given = sorted(_checked(simulations), key=lambda item: (item.N, item.seed))
    x = np.array([1.0 / item.N for item in given])
    y = np.array([item.error for item in given])
    w = np.array([item.standard_error**-2 for item in given])
    # x is measured from its weighted mean, so that the sums above do not cancel
    centre, level = float(np.average(x, weights=w)), float(np.average(y, weights=w))
    spread = float(np.sum(w * (x - centre) ** 2))
    slope = float(np.sum(w * (x - centre) * (y - level))) / spread
    limit = level - slope * centre
    variance = 1.0 / float(w.sum()) + centre**2 / spread
    sizes = tuple(item.N for item in given)
    misfit, degrees, p_value = None, 0, None
    if len(set(sizes)) >= 3:
        misfit, degrees = float(np.sum(w * (y - limit - slope * x) ** 2)), len(given) - 2
        p_value = float(chi2.sf(misfit, degrees))
    same = given[0]
    return Extrapolation(same.alpha, same.keep, same.angle, same.policy, sizes, limit, math.sqrt(variance), slope,
                         1.0 / math.sqrt(spread), misfit, degrees, p_value)  # fmt: skip


def _sizes(alpha: float, keep: float, N: int) -> tuple[int, int]:
    """Return how many examples are kept, and how many there are before pruning."""
    if alpha * N * N > _LARGEST or alpha * N / keep > _RANKED:
        raise InputError(
            f"alpha, keep and N of simulate may need at most {_LARGEST:,} numbers (alpha N^2) and {_RANKED:,} examples "
            f"to rank (alpha N / keep) per draw; got alpha={alpha:g}, keep={keep:g}, N={N}."
        )
    kept = round(alpha * N)
    if kept < 1:
        raise InputError(
            f"alpha * N of simulate must round to at least one example to keep; got alpha={alpha:g} and N={N}."
        )
    return kept, round(alpha * N / keep)


def _first_rank(policy: str | Window, kept: int, total: int) -> int | None:
    """Return the lowest rank of |margin| in the run of `kept` ranks that are kept; None where ranks do not matter."""
    if isinstance(policy, Window):
        return min(round(mass(0.0, policy.a) * total), total - kept)
    return {"hard": 0, "easy": total - kept, "random": None}[policy]


def _margins(rng: np.random.Generator, kept: int, total: int, first: int | None) -> Array:
    """Draw the margins along the probe of the kept examples."""
    if first is None or kept == total:
        return rng.standard_normal(kept)
    z = rng.standard_normal(total)
    return z[np.argsort(np.abs(z), kind="stable")[first : first + kept]]


def _draw(seed: int, N: int, kept: int, total: int, first: int | None, theta: float, number: int) -> Measured:
    """Draw one data set and solve for its student: error, R, rho, kappa."""
    rng = seeds.stream(seed, "simulate", N, number)
    z = _margins(rng, kept, total, first)
    x = rng.standard_normal((kept, N))  # the first column only makes room for the teacher's margins
    cosine, sine = math.cos(theta), math.sin(theta)
    across = x[:, 1].copy()  # the coordinate in the plane of teacher and probe, orthogonal to the probe
    x[:, 0] = cosine * z - sine * across
    x[:, 1] = sine * z + cosine * across
    x *= np.where(x[:, :1] < 0.0, -1.0, 1.0)  # the teacher's label
    w, _, status = solve_rows(x)
    if status != SOLVED:
        raise DivergedError(
            f"simulate could not solve draw {number} exactly: its margin is too small compared with rounding; "
            "use a larger keep or a smaller alpha."
        )
    length, aside = math.sqrt(np.square(w).sum()), math.sqrt(np.square(w[1:]).sum())
    error = math.atan2(aside, w[0]) / math.pi  # arccos loses digits near R = 1
    return error, float(w[0]) / length, float(cosine * w[0] + sine * w[1]) / length, 1.0 / length


def _in_order(one: Callable[[int], Measured], draws: int, crew: int) -> Iterator[Measured]:
    """Yield the result of each draw in order; threads run in parallel because the solver releases the GIL."""
    if crew == 1:
        yield from map(one, range(draws))
        return
    with ThreadPoolExecutor(crew, thread_name_prefix="winnow-simulate") as pool:
        try:
            yield from pool.map(one, range(draws))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after a failure the remaining draws are not needed


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(simulations: Iterable[Simulation]) -> list[Simulation]:
    """Check that the simulations can be fitted by one line, and return them as a list."""
    owner = "simulations of extrapolate"
    several = isinstance(simulations, Iterable) and getattr(simulations, "ndim", 1) > 0
    given: list[Any] = list(simulations) if several else [simulations]
    for item in given:
        if not isinstance(item, Simulation):
            raise InputError(f"{owner} must be results of simulate; got {type(item).__name__}.")
    if len({item.N for item in given}) < 2:
        raise InputError(f"{owner} must have at least two different N; got {sorted({item.N for item in given})}.")
    points = {(item.alpha, item.keep, item.angle, item.policy) for item in given}
    if len(points) > 1:
        raise InputError(f"{owner} must share alpha, keep, angle and policy; got {len(points)} different points.")
    if len({(item.N, item.seed) for item in given}) < len(given):
        raise InputError(f"{owner} must be independent; two have the same N and seed.")
    flat = [item.N for item in given if not item.standard_error > 0.0]
    if flat:
        raise InputError(f"{owner} must have draws that differ; those at N={flat[0]} are all the same.")
    return given
