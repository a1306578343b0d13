"""The rows of a benchmark: one method at one fraction of one data set, its trainings, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BenchCell", "BenchOutcome", "LeftOut"]


@dataclass(frozen=True)
class BenchCell:
    """One method at one fraction of one data set.

    Parameters
    ----------
    data, keep, method
        The data set, the fraction kept, and the method as `select` and `prune` call it; or what is free: `random`,
        `everything`, `repeated random`, `dynamic sampling`, `full`.
    soft
        Whether it was trained on soft targets.
    free
        Whether it needs no method.
    metric
        What `value` is.
    seeds, steps
        The number of trainings, and the optimiser steps of each.
    value, low, high
        The metric with its 95 % interval.
    gap, gap_low, gap_high
        The difference to a random subset of the same size with labels, paired, with its 95 % interval; NaN for random.
    p_value
        Of that difference.
    everything_gap, everything_low, everything_high
        The difference to everything for the same number of steps.
    find_seconds
        Seconds of finding the subset: the dearest observation that it needs, scoring, choosing, and trials. Soft
        targets need an observation too. 0 for what is free.
    full_seconds
        Seconds of one training on everything in full.
    """

    data: str
    keep: float
    method: str
    soft: bool
    free: bool
    metric: str
    seeds: int
    steps: int
    value: float
    low: float
    high: float
    gap: float
    gap_low: float
    gap_high: float
    p_value: float
    everything_gap: float
    everything_low: float
    everything_high: float
    find_seconds: float
    full_seconds: float

    @property
    def name(self) -> str:
        """The method, and whether it used soft targets."""
        return f"{self.method} + soft" if self.soft else self.method

    @property
    def reach(self) -> float:
        """Half the interval of the difference."""
        return (self.gap_high - self.gap_low) / 2


@dataclass(frozen=True)
class BenchOutcome:
    """One trained model."""

    data: str
    keep: float
    method: str
    soft: bool
    seed: int
    value: float
    loss: float
    iterations: int
    seconds: float


@dataclass(frozen=True)
class LeftOut:
    """A method that was not run on a data set, and why."""

    data: str
    method: str
    why: str
