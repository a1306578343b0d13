"""Spearman's correlation agrees with scipy's, with ties, and with that of a resample that draws everybody once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from winnow.core.rank_correlation import drawn_rank_correlations, rank_correlation


@given(st.integers(0, 10_000), st.sampled_from([2, 5, 1000]))
def test_ties_share_their_mean_rank(seed: int, values: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = draw.integers(0, values, size=(2, 30)).astype(np.float64)
    a[0], a[1], b[0], b[1] = -1, -2, -3, -4  # neither is constant
    found = rank_correlation(a, b)
    assert found == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
    assert found == pytest.approx(drawn_rank_correlations(a, b, np.ones((1, 30)))[0], abs=1e-12)


def test_a_constant_is_related_to_nothing() -> None:
    assert rank_correlation(np.ones(5), np.arange(5.0)) == 0.0
