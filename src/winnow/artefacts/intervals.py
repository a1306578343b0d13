"""Means and differences with intervals that hold the luck of training, of the test set and of a draw.

Every "+-" in a table, a report or a certificate is computed here.

**Seeds and examples.** Let q_si be the quality of the model of seed s on test example i (for a difference: that of one
arm minus that of the other, with the same seed and example). Seeds and examples are crossed random effects,

    q_si = m + a_s + b_i + e_si,

and the mean over S seeds and n examples varies by var(a)/S + var(b)/n + var(e)/(S n). With A the variance of the seeds'
means, B that of the examples' means and E that of the rest, A/S + B/n holds var(e)/(S n) twice, so E/(S n) is taken
off. There are few seeds and many examples, so each part has its own quantile, Student's with S - 1 degrees of freedom
and the normal one, and the interval is

    mean +- sqrt( t^2 (A - k E/n)+ / S + z^2 B/n ),    k = (S - 2) / (S - 1).

With few seeds A is uncertain: taking all of E off (k = 1), or one quantile with Satterthwaite's degrees of freedom,
called a random subset different from random in up to 8 of 100 simulated studies of five seeds and 11 of three; this one
in up to 7 and 8.5 (`studies/winning/validity.py`). k was chosen among several on such simulations.

**Two arms that are both drawn anew.** If each seed has its own subset in both arms, seeds hardly pair anything. Then
the variances of both arms' seeds are added instead of taking that of their difference, which has 2 (S - 1) degrees of
freedom instead of S - 1. Where arms go up and down together, the sum is too large and the interval wide; if they moved
against each other, it would be too narrow. In simulated studies of five seeds it finds a difference of 2 points in 94
of 100 instead of 91, and calls random different from random in at most 5 of 100 (`studies/winning/validity.py`).

**The luck of a draw.** If one arm is a single fixed subset and the other is drawn anew with each seed, then S trainings
on the fixed one tell nothing about how lucky that subset is, and a random subset looks different from random. The
variance of that luck is estimated from the other arm, whose rows hold both the luck of draws and of training: a share
of (A - k E/n)+ of that arm (E/n is in B/n already). The share comes from the spread between
seeds, averaged over examples, in both arms: 1 - spread(fixed) / spread(redrawn). As one draw moves many examples the
same way, its share in means is larger than in single examples; in small networks and linear models, on one synthetic
table, the odds were 1.4 to 4.4 times as high, and they are multiplied by `TOGETHER`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .class_metrics import by_class

__all__ = ["Interval", "added_to", "crossed", "difference", "holm", "mean", "paired", "with_example_error"]

TOGETHER = 3.0  # how much higher the odds of the draw are in the variance of means than in that of single examples
RANGE = {"values": (-math.inf, math.inf), "shares": (0.0, 1.0), "differences": (-1.0, 1.0), "r2": (-math.inf, 1.0)}
RANGE |= {"areas": (0.0, 1.0), "area differences": (-1.0, 1.0)}
ADDED = {"shares": (1.0, 1.0, 0.0, 0.0), "differences": (1.0, -1.0)}  # examples, see `crossed`
AREAS = {"areas": ADDED["shares"], "area differences": ADDED["differences"]}  # added only if all examples agree
Counted = Literal["values", "shares", "differences", "r2", "areas", "area differences"]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A centre with a two-sided interval; with one observation the ends are NaN.

    Parameters
    ----------
    centre, low, high
        The estimate and the ends of its interval.
    runs
        The number of seeds.
    seed_error, example_error
        The standard errors from seeds (and draws) and from test examples; NaN if unknown.
    about
        What the interval is about, in words.
    freedom
        Degrees of freedom of the standard error from seeds; `runs` - 1 if not given.
    """

    centre: float
    low: float
    high: float
    runs: int
    seed_error: float = math.nan
    example_error: float = 0.0
    about: str = ""
    freedom: int | None = None

    @property
    def half_width(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2

    @property
    def symmetric(self) -> bool:
        """Whether the centre lies in the middle: an end at the border of what is possible cuts it short."""
        return math.isclose(self.high - self.centre, self.centre - self.low, rel_tol=1e-6, abs_tol=1e-9)

    def within(self, least: float, most: float) -> Interval:
        """The same with its ends inside a range; NaN stays."""
        return replace(self, low=_between(self.low, least, most), high=_between(self.high, least, most))

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside. One run excludes nothing, nor do two that agree to the last digit by chance."""
        return (self.runs >= 3 or self.high > self.low) and bool(self.low > 0 or self.high < 0)

    @property
    def p_value(self) -> float:
        """Probability of a centre this far from zero, either way, if the truth is zero; NaN without an interval."""
        from scipy import optimize

        if math.isnan(self.seed_error):
            return math.nan
        if self.reach(0.975) == 0:
            return 1.0 if self.centre == 0 else 0.0
        distance = abs(self.centre)
        if self.reach(1 - 1e-12) <= distance:
            return 2e-12
        return 2 * float(optimize.brentq(lambda p: self.reach(1 - p) - distance, 1e-12, 0.5))

    def reach(self, confidence: float) -> float:
        """Distance from the centre to its one-sided limit at that confidence, whatever the possible range."""
        from scipy import stats

        freedom = self.runs - 1 if self.freedom is None else self.freedom
        of_seeds = float(stats.t.ppf(confidence, freedom)) * self.seed_error
        return math.hypot(of_seeds, stats.norm.ppf(confidence) * self.example_error)


def mean(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent runs with its t interval, which holds the luck of training only.

    >>> mean([0.90, 0.92, 0.91]).centre
    0.91
    """
    v = np.asarray(values, dtype=np.float64)
    centre = float(v.mean())
    if v.size < 2:
        return Interval(centre, math.nan, math.nan, int(v.size))
    return _around(centre, int(v.size), float(v.std(ddof=1)) / math.sqrt(v.size), 0.0, confidence)


def with_example_error(
    values: Sequence[float], example_error: float, confidence: float = 0.95, about: str = ""
) -> Interval:
    """Mean over seeds of a share, with an interval that also holds a known standard error over test examples."""
    v = np.asarray(values, dtype=np.float64)
    if v.size < 2:
        return Interval(float(v.mean()), math.nan, math.nan, int(v.size), about=about)
    error = float(v.std(ddof=1)) / math.sqrt(v.size)
    return _around(float(v.mean()), int(v.size), error, example_error, confidence, 0.0, 1.0, about)


def difference(ours: Sequence[float], theirs: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of paired differences `ours - theirs`, matched by seed, with its t interval."""
    return mean(np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64), confidence)


def crossed(
    values: ArrayLike,
    confidence: float = 0.95,
    *,
    luck: float = 0.0,
    between: float | None = None,
    freedom: int | None = None,
    counted: Counted = "values",
    about: str = "",
    classes: NDArray[np.integer] | None = None,
) -> Interval:
    """Mean of values given by seed and test example, with an interval for other seeds and other test examples.

    Parameters
    ----------
    values
        Seeds x examples.
    confidence
        Of the two-sided interval.
    luck
        Variance of a draw's luck that all seeds share, to be added.
    between, freedom
        Variance between seeds and its degrees of freedom; those of the values if not given.
    counted
        What the values are: any `values`; parts of an `r2`, which is at most 1; `shares`, which are right or wrong (1
        or 0), or `differences` of these; `areas` under a curve, or `area differences`. The ends stay within what is
        possible. For shares and their differences, a few examples are added to the variance between examples (two right
        and two wrong, or one gained and one lost), so that agreement on all is not taken for certainty. The marks of
        areas differ by small amounts, beside which such examples would be most of the variance: they are added only if
        all marks are equal.
    about
        What the interval is about, in words.
    classes
        The classes of the examples, if the mean is that over classes of the class means (`class_metrics`).

    Returns
    -------
    Interval
        With one seed the ends are NaN, because the luck of training is unknown.

    >>> found = crossed([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1]], counted="shares")
    >>> round(found.centre, 3), round(found.low, 3), found.high
    (0.667, 0.063, 1.0)
    """
    q = np.asarray(values, dtype=np.float64)
    seeds, examples = q.shape
    added, extra = added_to(q, counted), 0.0
    if classes is not None:
        (q, extra), added = by_class(q, classes, added), ()
    centre = float(q.mean())
    if seeds < 2:
        return Interval(centre, math.nan, math.nan, seeds, about=about)
    by_example = np.append(q.mean(0), added)
    of_seeds = (_between_seeds(q) if between is None else between) / seeds + luck
    of_examples = (float(by_example.var(ddof=1)) + extra) / examples if examples > 1 else 0.0
    least, most = RANGE[counted]
    errors = math.sqrt(of_seeds), math.sqrt(of_examples)
    return _around(centre, seeds, *errors, confidence, least, most, about, freedom)


def paired(
    ours: ArrayLike,
    theirs: ArrayLike,
    confidence: float = 0.95,
    *,
    fixed: Literal["ours", "theirs"] | None = None,
    apart: bool = False,
    binary: bool = True,
    area: bool = False,
    about: str = "",
    classes: NDArray[np.integer] | None = None,
) -> Interval:
    """Mean difference `ours - theirs`, paired by seed and by test example.

    Parameters
    ----------
    ours, theirs
        Seeds x examples: the quality of each model on each example, 1 or 0 if `binary`.
    confidence
        Of the two-sided interval.
    fixed
        Which arm is one subset for all seeds while the other is drawn anew with each; its luck is then added. None if
        both are drawn anew, or if the claim is about these very subsets.
    apart
        Whether each seed has another training set in either arm, so that seeds pair hardly anything.
    binary
        Whether examples are right or wrong, or have other marks of a metric between 0 and 1.
    area
        Whether the metric is an area under a curve, whose marks differ by small amounts.
    about
        What the interval is about, in words.
    classes
        As in `crossed`.
    """
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    counted: Counted = "area differences" if area else "differences" if binary else "values"
    gap, luck = a - b, 0.0
    if classes is not None:
        a, b = (by_class(one, classes, ())[0] for one in (a, b))
    seeds, between, freedom = a.shape[0], None, None
    if fixed is not None and seeds > 1:
        luck = luck_of_draw(a, b) if fixed == "ours" else luck_of_draw(b, a)
    if apart and seeds > 1:
        between, freedom = _between_seeds(a) + _between_seeds(b), 2 * (seeds - 1)
    return crossed(
        gap, confidence, luck=luck, between=between, freedom=freedom, counted=counted, about=about, classes=classes
    )


def added_to(marks: Matrix, counted: str) -> tuple[float, ...]:
    """Marks that are added to the variance between examples; see `crossed`."""
    if counted in AREAS:
        return AREAS[counted] if np.ptp(marks) == 0 else ()
    return ADDED.get(counted, ())


def luck_of_draw(fixed: Matrix, redrawn: Matrix) -> float:
    """Variance of how lucky one draw is, in the mean over all examples; see the module.

    Parameters
    ----------
    fixed, redrawn
        Seeds x examples, of an arm with one subset for all seeds and of one that is drawn anew with each.
    """
    ours, theirs = float(fixed.var(0, ddof=1).mean()), float(redrawn.var(0, ddof=1).mean())
    if theirs <= 0:
        return 0.0
    share = max(1 - ours / theirs, 0.0)
    share = TOGETHER * share / (1 + (TOGETHER - 1) * share)
    return share * _between_seeds(redrawn)


def holm(p_values: ArrayLike) -> Matrix:
    """Holm's correction of several p values: each is the level at which its claim holds among all of them.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(raised, 1.0)
    return out


def _between_seeds(q: Matrix) -> float:
    """Variance between seeds that does not average out over test examples: (A - k E/n)+ of the module."""
    seeds, examples = q.shape
    means = float(q.mean(1).var(ddof=1))
    if examples < 2:
        return means
    around_examples = float(q.var(0, ddof=1).sum())
    rest = max(around_examples - examples * means, 0.0) / (examples - 1)
    return float(max(means - (seeds - 2) / (seeds - 1) * rest / examples, 0.0))


def _around(
    centre: float,
    runs: int,
    seed_error: float,
    example_error: float,
    confidence: float,
    least: float = -math.inf,
    most: float = math.inf,
    about: str = "",
    freedom: int | None = None,
) -> Interval:
    found = Interval(centre, math.nan, math.nan, runs, seed_error, example_error, about, freedom)
    half = found.reach(0.5 + confidence / 2)
    return replace(found, low=centre - half, high=centre + half).within(least, most)


def _between(value: float, least: float, most: float) -> float:
    return value if math.isnan(value) else min(max(value, least), most)
