"""Slow twin of `evaluation.fold_limit`: sums written out, and the limit found by search instead of by iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import optimize, stats

from .intervals import average, variance

Fold = Sequence[Sequence[float]]  # trainings x examples


def examples_of(fold: Fold) -> list[float]:
    """What each example loses, mean over trainings."""
    return [average([row[place] for row in fold]) for place in range(len(fold[0]))]


def spread_between(folds: Sequence[Fold]) -> float:
    """What the means of the folds vary beyond their examples; it may be negative."""
    count = len(folds)
    taken = (count - 2) / (count - 1) * within(folds) * average([1 / len(fold[0]) for fold in folds])
    return variance([average(examples_of(fold)) for fold in folds]) - taken


def within(folds: Sequence[Fold]) -> float:
    """The variance of examples around the mean of their fold."""
    left, total = 0.0, 0
    for fold in folds:
        each = examples_of(fold)
        left += sum((one - average(each)) ** 2 for one in each)
        total += len(each)
    return left / (total - len(folds))


def limit(folds: Sequence[Fold], confidence: float, earlier: Sequence[float] = (), binary: bool = False) -> float:
    """The upper limit of the loss."""
    count = len(folds)
    each = [one for fold in folds for one in examples_of(fold)]
    total, loss = len(each), average(each)
    between = max(0.0, average([spread_between(folds), *list(earlier)[-2:]]))
    weights = sum((len(fold[0]) / total) ** 2 for fold in folds)
    t, z = stats.t.ppf(confidence, count - 1), stats.norm.ppf(confidence)
    if not binary:
        return loss + math.sqrt(t**2 * between * weights + z**2 * within(folds) / total)
    marks = [value for fold in folds for row in fold for value in row]
    lost, gained = (sum(1 for value in marks if value * sign > 0) / len(marks) for sign in (1, -1))
    seen = lost + gained - (lost - gained) ** 2
    share = (within(folds) + 1 / total) / (seen + 1 / total)

    def short(at: float) -> float:
        """How far a limit is above what it would be, were the loss at it."""

        def unlikely(q: float) -> float:
            parts = (q + at, q, 1 - 2 * q - at)
            shares = (lost, gained, 1 - lost - gained)
            return -sum(w * math.log(max(p, 1e-300)) for w, p in zip(shares, parts, strict=True))

        bounds = (max(1e-12, -at + 1e-12), (1 - at) / 2 - 1e-12)
        q = optimize.minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-13}).x
        few = share * max(0.0, 2 * q + at - at**2 - seen)
        return at - loss - math.sqrt(t**2 * between * weights + z**2 * (within(folds) + few) / total)

    return float(optimize.brentq(short, max(1e-9, loss), 0.999))
