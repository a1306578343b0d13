import math

import numpy as np
import pytest
from scipy import stats
from studies.compression.parts import begun, exponent, holds, ratio, times

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


def test_exponents_are_read_back():
    sizes = np.array([100, 300, 1000])
    assert exponent(sizes, 5 * sizes**-0.7) == pytest.approx(0.7)


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


def test_sentences_begin_with_a_capital_and_keep_names():
    assert begun("easy, ReLU") == "Easy, ReLU"


def test_times_are_geometric_means_of_paired_ratios():
    found = times([2.0, 8.0, 4.0], [1.0, 1.0, 1.0])
    assert found.centre == pytest.approx(4)
    assert found.low * found.high == pytest.approx(16)
