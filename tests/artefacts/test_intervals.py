"""Intervals over seeds and test examples: when they claim a difference, and how wide they are."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from winnow.artefacts.intervals import Interval, crossed, difference, holm, luck_of_draw, mean, paired

from ..oracles import intervals as slow


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


def answers(seeds: int = 5, examples: int = 40, noise: float = 0.7, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    level = rng.normal(size=examples) + 0.5 + 0.2 * rng.normal(size=(seeds, 1))
    return (level + noise * rng.normal(size=(seeds, examples)) > 0).astype(float)


@pytest.mark.parametrize("seeds", [2, 3, 5, 8])
def test_a_crossed_interval_is_that_of_the_written_out_sums(seeds: int) -> None:
    ours, theirs = answers(seeds), answers(seeds, seed=1)
    found = crossed(ours, counted="shares")
    half = slow.half_width(ours.tolist(), [1, 1, 0, 0])
    assert (found.centre, found.runs) == (pytest.approx(ours.mean()), seeds)
    assert found.low == pytest.approx(max(ours.mean() - half, 0))
    assert found.high == pytest.approx(min(ours.mean() + half, 1))
    gap = ours - theirs
    assert crossed(gap).half_width == pytest.approx(slow.half_width(gap.tolist()))
    known = paired(ours, theirs)
    assert known.half_width == pytest.approx(min(slow.half_width(gap.tolist(), [1, -1]), 1))


@pytest.mark.parametrize("seeds", [2, 3, 5, 8])
def test_of_two_arms_that_share_no_training_set_each_spread_counts_for_itself(seeds: int) -> None:
    ours, theirs = answers(seeds, 400), answers(seeds, 400, seed=1)
    found = paired(ours, theirs, apart=True)
    assert found.centre == pytest.approx((ours - theirs).mean())
    assert found.half_width == pytest.approx(min(slow.half_width_apart(ours.tolist(), theirs.tolist(), [1, -1]), 1))
    touching = paired(ours, theirs, 1 - found.p_value, apart=True)
    assert min(abs(touching.low), abs(touching.high)) == pytest.approx(0, abs=1e-6)
    assert math.isnan(paired(ours[:1], theirs[:1], apart=True).low)


def test_arms_that_share_no_training_set_are_not_told_apart_too_often_and_real_differences_more_often() -> None:
    rng, counts = np.random.default_rng(0), np.zeros((2, 2))
    for _ in range(200):
        level = 2 * rng.normal(size=800)
        for row, better in enumerate((0.0, 0.2)):
            shift = np.array([better, 0.0])[:, None, None] + 0.1 * rng.normal(size=(2, 5, 1))
            ours, theirs = level + shift + 0.5 * rng.normal(size=(2, 5, 800)) > 0
            counts[row] += [paired(ours, theirs, apart=apart).excludes_zero for apart in (False, True)]
    assert counts[0, 1] <= 0.08 * 200
    assert counts[1, 1] >= counts[1, 0] + 5


@pytest.mark.parametrize("fixed", ["ours", "theirs"])
def test_the_luck_of_a_draw_is_that_of_the_written_out_sums(fixed: Literal["ours", "theirs"]) -> None:
    calm, wild = answers(noise=0.1), answers(noise=1.0, seed=1)
    pair = (calm, wild) if fixed == "ours" else (wild, calm)
    lucky = slow.luck(calm.tolist(), wild.tolist())
    assert lucky > 0
    found = paired(*pair, fixed=fixed)
    assert found.half_width == pytest.approx(slow.half_width((pair[0] - pair[1]).tolist(), [1, -1], lucky))
    assert found.half_width > paired(*pair).half_width
    assert luck_of_draw(wild, calm) == 0  # the fixed one is wilder: no sign of a draw's luck
    assert luck_of_draw(calm, np.ones_like(wild)) == 0


def test_the_standard_errors_are_those_of_a_nested_bootstrap() -> None:
    values = answers(40, 300)
    found = crossed(values)
    assert math.hypot(found.seed_error, found.example_error) == pytest.approx(
        slow.bootstrapped(values.tolist(), 1500, 0), rel=0.1
    )


def test_no_interval_leaves_the_possible_range_or_is_certain_of_what_all_agree_on() -> None:
    right = crossed(np.ones((3, 50)), counted="shares")
    assert (right.centre, right.high) == (1.0, 1.0)
    assert 0.93 < right.low < 0.99
    assert not right.symmetric
    same = paired(np.ones((3, 50)), np.ones((3, 50)))
    assert same.low == -same.high < 0
    far = paired(np.ones((2, 3)), [[0, 0, 1], [0, 0, 0]])
    assert (far.high, far.low >= -1) == (1.0, True)
    assert crossed([[-9.0, 1.0, 0.9], [1.0, 1.0, 0.9]], counted="r2").high == 1.0
    assert math.isnan(crossed([[1, 0, 1]]).low)
    assert mean([0.9, 1.0]).within(0, 1).high == 1.0
    assert math.isnan(mean([0.9]).within(0, 1).high)


def test_a_p_value_is_where_the_interval_touches_zero() -> None:
    ours, theirs = answers(5, 400), answers(5, 400, seed=3)
    p = paired(ours, theirs).p_value
    touching = paired(ours, theirs, 1 - p)
    assert min(abs(touching.low), abs(touching.high)) == pytest.approx(0, abs=1e-6)
    assert mean([1.0, 2.0, 4.0]).p_value == pytest.approx(stats.ttest_1samp([1.0, 2.0, 4.0], 0).pvalue)
    assert math.isnan(mean([1.0]).p_value)
    assert (mean([1.0, 1.0]).p_value, mean([0.0, 0.0]).p_value) == (0.0, 1.0)
    assert mean([1.0, 1.0 + 1e-9]).p_value < 1e-6


def test_holm_corrects_from_the_smallest() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
