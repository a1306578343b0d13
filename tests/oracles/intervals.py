"""Slow twins of `artefacts.intervals`: sums written out, and a nested bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

Rows = Sequence[Sequence[float]]


def average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    centre = average(values)
    return sum((value - centre) ** 2 for value in values) / (len(values) - 1)


def column(rows: Rows, place: int) -> list[float]:
    return [row[place] for row in rows]


def between_seeds(rows: Rows) -> float:
    """(A - k E/n)+ with E the mean square of what neither seed nor example explains."""
    seeds, examples = len(rows), len(rows[0])
    whole = average([average(row) for row in rows])
    left = 0.0
    for row in rows:
        for place in range(examples):
            left += (row[place] - average(row) - average(column(rows, place)) + whole) ** 2
    rest = left / ((seeds - 1) * (examples - 1))
    means = variance([average(row) for row in rows])
    return max(means - (seeds - 2) / (seeds - 1) * rest / examples, 0.0)


def half_width(rows: Rows, added: Sequence[float] = (), luck: float = 0.0) -> float:
    seeds, examples = len(rows), len(rows[0])
    by_example = [average(column(rows, place)) for place in range(examples)] + list(added)
    of_seeds = between_seeds(rows) / seeds + luck
    of_examples = variance(by_example) / examples
    return math.sqrt(stats.t.ppf(0.975, seeds - 1) ** 2 * of_seeds + stats.norm.ppf(0.975) ** 2 * of_examples)


def half_width_apart(ours: Rows, theirs: Rows, added: Sequence[float]) -> float:
    """Of two arms whose seeds pair nothing: the spread of each counts for itself."""
    seeds, examples = len(ours), len(ours[0])
    gaps = [average(column(ours, place)) - average(column(theirs, place)) for place in range(examples)]
    of_seeds = (between_seeds(ours) + between_seeds(theirs)) / seeds
    of_examples = variance([*gaps, *added]) / examples
    return math.sqrt(stats.t.ppf(0.975, 2 * seeds - 2) ** 2 * of_seeds + stats.norm.ppf(0.975) ** 2 * of_examples)


def luck(fixed: Rows, redrawn: Rows, together: float = 3.0) -> float:
    examples = range(len(fixed[0]))
    ours = average([variance(column(fixed, place)) for place in examples])
    theirs = average([variance(column(redrawn, place)) for place in examples])
    share = max(1 - ours / theirs, 0.0)
    odds = math.inf if share == 1 else together * share / (1 - share)
    return (1.0 if odds == math.inf else odds / (1 + odds)) * between_seeds(redrawn)


def bootstrapped(rows: Rows, draws: int, seed: int) -> float:
    """Standard error of the mean, by drawing seeds and examples again and again."""
    values, rng = np.asarray(rows, dtype=float), np.random.default_rng(seed)
    seeds, examples = values.shape
    means = [values[rng.integers(0, seeds, seeds)][:, rng.integers(0, examples, examples)].mean() for _ in range(draws)]
    return float(np.std(means))
