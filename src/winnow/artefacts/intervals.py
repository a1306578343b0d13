"""Means and paired differences over seeds, with Student's t intervals.

Every "+-" in a table, a report or a certificate is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Interval", "difference", "mean"]


@dataclass(frozen=True)
class Interval:
    """A centre with a two-sided interval; with one observation the ends are NaN."""

    centre: float
    low: float
    high: float
    runs: int

    @property
    def half_width(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside. One run excludes nothing, nor do two that agree to the last digit by chance."""
        return (self.runs >= 3 or self.high > self.low) and bool(self.low > 0 or self.high < 0)


def mean(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent runs with its t interval.

    >>> mean([0.90, 0.92, 0.91]).centre
    0.91
    """
    from scipy import stats

    v = np.asarray(values, dtype=np.float64)
    centre = float(v.mean())
    if v.size < 2:
        return Interval(centre, float("nan"), float("nan"), int(v.size))
    half = float(stats.t.ppf(0.5 + confidence / 2, v.size - 1) * v.std(ddof=1) / np.sqrt(v.size))
    return Interval(centre, centre - half, centre + half, int(v.size))


def difference(ours: Sequence[float], theirs: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of paired differences `ours - theirs`, matched by seed, with its t interval."""
    return mean(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), confidence)
