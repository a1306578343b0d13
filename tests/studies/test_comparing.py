import math

import numpy as np
import pytest
from scipy import stats
from studies.comparing import ONE, better, claimed, holds, ratio, signed, times, unchanged, within

from winnow.artefacts.intervals import Interval


def test_ends_of_a_ratio_are_where_the_t_test_changes_its_mind():
    rng = np.random.default_rng(0)
    below = rng.normal(2, 0.5, 8)
    above = 0.3 * below + rng.normal(0, 0.1, 8)
    found = ratio(above, below)
    assert found.low < found.centre < found.high
    assert found.centre == pytest.approx(above.mean() / below.mean())
    for end in (found.low, found.high):
        assert stats.ttest_1samp(above - end * below, 0).pvalue == pytest.approx(0.05)


def test_a_ratio_to_what_may_be_zero_is_open():
    found = ratio([1.0, 2.0, 3.0], [-1.0, 0.5, 1.0])
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert math.isnan(ratio([1.0], [2.0]).low)


@pytest.mark.parametrize(
    ("low", "high", "at_most", "word"),
    [
        (0.1, 0.3, True, "holds"),
        (0.5, 0.7, True, "does not hold"),
        (0.3, 0.5, True, "is not decided by these seeds"),
        (0.5, 0.7, False, "holds"),
        (0.1, 0.3, False, "does not hold"),
        (math.nan, math.nan, True, "is not decided by these seeds"),
    ],
)
def test_a_claim_is_judged_by_its_interval(low, high, at_most, word):
    assert holds(Interval((low + high) / 2, low, high, 5), 0.4, at_most=at_most) == word


def test_times_are_geometric_means_of_paired_ratios():
    found = times([2.0, 8.0, 4.0], [1.0, 1.0, 1.0])
    assert found.centre == pytest.approx(4)
    assert found.low * found.high == pytest.approx(16)


@pytest.mark.parametrize(
    ("low", "high", "runs", "said"),
    [
        (0.2, 0.6, 3, ("+0.40 ± 0.20 ▲", "better", "holds", "does not hold: it rises")),
        (-0.6, -0.2, 3, ("-0.40 ± 0.20 ▼", "worse", "does not hold: the other way round", "does not hold: it falls")),
        (-0.2, 0.4, 3, ("+0.10 ± 0.30", "not told apart", "not shown", "not contradicted")),
        (math.nan, math.nan, 1, ("+nan ± nan", ONE, ONE, ONE)),
    ],
)
def test_a_difference_is_put_in_words_by_its_interval(low, high, runs, said):
    gap = Interval((low + high) / 2, low, high, runs)
    assert (signed(gap), better(gap), claimed(gap), unchanged(gap)) == said


def test_an_interval_that_is_not_symmetric_is_written_by_its_ends():
    assert within(Interval(0.5, 0.25, 1.0, 4)) == "0.50 (0.25 to 1.00)"
