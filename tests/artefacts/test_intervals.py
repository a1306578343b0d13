"""Intervals over seeds: when they claim a difference, and how wide they are."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from winnow.artefacts.intervals import Interval, difference, mean


@pytest.mark.parametrize(
    ("low", "high", "runs", "claims"),
    [
        (0.1, 0.3, 5, True),
        (-0.3, -0.1, 5, True),
        (-0.1, 0.3, 5, False),
        (-0.3, 0.1, 5, False),
        (0.0, 0.3, 5, False),
        (-0.3, 0.0, 5, False),
        (0.1, 0.3, 2, True),
        (0.2, 0.2, 2, False),  # two runs that agree by chance
        (0.2, 0.2, 3, True),
        (-0.2, -0.2, 4, True),
        (0.0, 0.0, 3, False),
        (math.nan, math.nan, 1, False),
        (math.nan, math.nan, 3, False),
    ],
)
def test_zero_is_excluded_only_when_it_lies_outside(low: float, high: float, runs: int, claims: bool) -> None:
    assert Interval((low + high) / 2, low, high, runs).excludes_zero is claims


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.90, 0.92, 0.91], [3.0, 1.0, 2.0, 7.0, 5.0]])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_a_mean_has_the_interval_of_student(values: list[float], confidence: float) -> None:
    found = mean(values, confidence)
    low, high = stats.t.interval(confidence, len(values) - 1, sum(values) / len(values), stats.sem(values))
    assert (found.low, found.high, found.runs) == pytest.approx((low, high, len(values)))
    assert found.half_width == pytest.approx((high - low) / 2)


def test_one_run_has_no_interval_and_95_percent_is_the_default() -> None:
    alone = mean([0.5])
    assert (alone.centre, alone.runs) == (0.5, 1)
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)
    assert mean([1.0, 2.0, 4.0]) == mean([1.0, 2.0, 4.0], 0.95)
    assert difference([3.0, 5.0, 9.0], [2.0, 3.0, 5.0]) == mean([1.0, 2.0, 4.0], 0.95)
    assert difference([3.0, 5.0, 9.0], [2.0, 3.0, 5.0], 0.8) == mean([1.0, 2.0, 4.0], 0.8)
