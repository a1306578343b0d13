"""What the parts of this study share: ratios with their intervals, exponents, and what is said of a claim."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from winnow.artefacts.intervals import Interval, mean


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


def exponent(sizes: ArrayLike, errors: ArrayLike) -> float:
    """The alpha of `error = c size^-alpha`, by least squares on logarithms."""
    return -float(np.polyfit(np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(errors)), 1)[0])


def within(found: Interval, digits: int = 2) -> str:
    """A centre with the ends of its interval, for intervals that are not symmetric."""
    return f"{found.centre:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def holds(found: Interval, bound: float, *, at_most: bool) -> str:
    """Whether a number is on the claimed side of a bound, as its interval allows to say."""
    inside = found.high <= bound if at_most else found.low >= bound
    outside = found.low > bound if at_most else found.high < bound
    if inside:
        return "holds"
    return "does not hold" if outside else "is not decided by these seeds"


def begun(words: str) -> str:
    """The words with a capital at the start, and the rest as it is."""
    return words[:1].upper() + words[1:]
