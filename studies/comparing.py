"""What is said of numbers over seeds: differences and ratios with their intervals, and whether a claim holds.

An interval decides: a claim holds if all of the interval agrees with it, fails if none of it does, and is not decided
otherwise. One run has no interval and decides nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from winnow.artefacts.intervals import Interval, mean

ONE = "undecided by one repeat"


def ratio(above: ArrayLike, below: ArrayLike, confidence: float = 0.95) -> Interval:
    """The ratio of two means of paired runs, with Fieller's interval.

    The interval holds every r for which the mean of `above - r below` is not told from 0 by a t test. It is open, and
    its ends are infinite, if the mean of `below` is not told from 0 itself; with one run they are NaN.
    """
    a, b = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    centre = float(a.mean() / b.mean())
    if a.size < 2:
        return Interval(centre, math.nan, math.nan, int(a.size))
    (va, vab), (_, vb) = np.cov(a, b) / a.size * stats.t.ppf(0.5 + confidence / 2, a.size - 1) ** 2
    square = b.mean() ** 2 - vb
    if square <= 0:
        return Interval(centre, -math.inf, math.inf, int(a.size))
    middle = (a.mean() * b.mean() - vab) / square
    half = math.sqrt(max(middle**2 - (a.mean() ** 2 - va) / square, 0.0))
    return Interval(centre, float(middle - half), float(middle + half), int(a.size))


def times(above: ArrayLike, below: ArrayLike) -> Interval:
    """The geometric mean of the ratios of paired positive runs, with the t interval of its logarithm."""
    found = mean(np.log(np.asarray(above, dtype=np.float64) / np.asarray(below, dtype=np.float64)))
    return Interval(*(math.exp(value) for value in (found.centre, found.low, found.high)), found.runs)


def within(found: Interval, digits: int = 2) -> str:
    """A centre with the ends of its interval, for intervals that are not symmetric."""
    return f"{found.centre:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def signed(gap: Interval) -> str:
    """A difference with its sign, marked where its interval leaves zero out."""
    mark = "" if not gap.excludes_zero else " ▲" if gap.centre > 0 else " ▼"
    return f"{gap.centre:+.2f} ± {gap.half_width:.2f}{mark}"


def holds(found: Interval, bound: float, *, at_most: bool) -> str:
    """Whether a number is on the claimed side of a bound, as its interval allows to say."""
    inside = found.high <= bound if at_most else found.low >= bound
    outside = found.low > bound if at_most else found.high < bound
    if inside:
        return "holds"
    return "does not hold" if outside else "is not decided by these seeds"


def claimed(gap: Interval) -> str:
    """What an interval says of the claim that the difference is positive."""
    if not gap.excludes_zero:
        return "not shown" if gap.runs > 1 else ONE
    return "holds" if gap.centre > 0 else "does not hold: the other way round"


def unchanged(gap: Interval) -> str:
    """What an interval says of the claim that nothing changes."""
    if not gap.excludes_zero:
        return "not contradicted" if gap.runs > 1 else ONE
    return "does not hold: it falls" if gap.centre < 0 else "does not hold: it rises"


def better(gap: Interval) -> str:
    """A difference in a word."""
    if not gap.excludes_zero:
        return "not told apart" if gap.runs > 1 else ONE
    return "better" if gap.centre > 0 else "worse"
