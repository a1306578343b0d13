import math

import numpy as np
import pytest

from tests.oracles import scaling as oracle
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.theory.pareto import pareto
from winnow.methods.theory.scaling_laws import fit_scaling


@pytest.mark.parametrize("seed", range(20))
def test_the_envelope_equals_the_comparison_of_every_pair(seed):
    rng = np.random.default_rng(seed)
    runs = int(rng.integers(1, 60))
    total = rng.choice([500, 1000, 2000, 4000], runs)
    keep = rng.choice([0.1, 0.2, 0.25, 0.4, 0.5, 1.0], runs)
    # Few error levels, exact in binary, so that ties occur and means compare alike in both twins.
    errors = rng.integers(1, 9, runs) / 16
    front = pareto(total, keep, errors, bootstrap=0)
    slow = oracle.envelope(total, keep, errors)
    assert set(zip(front.total, front.keep, strict=True)) == set(slow)
    assert np.all(np.diff(front.kept) > 0)
    assert np.all(np.diff(front.errors) < 0)
    for t, f, kept, error in zip(front.total, front.keep, front.kept, front.errors, strict=True):
        assert (kept, error) == pytest.approx(slow[(t, f)])
    np.testing.assert_array_equal(front.groups.kept[front.indices], front.kept)


def test_repeats_are_averaged_and_their_spread_kept():
    front = pareto([100, 100, 100, 200], [0.5, 0.5, 0.5, 0.5], [0.2, 0.4, 0.3, 0.1])
    assert front.errors == pytest.approx([0.3, 0.1])
    assert front.spread[0] == pytest.approx(0.1)
    assert math.isnan(front.spread[1])
    assert front.groups.runs.tolist() == [3, 1]
    assert front.groups.of_run.tolist() == [0, 0, 0, 1]


def test_equal_counts_meet_although_their_products_differ_by_rounding():
    assert 0.7 * 1000 < 0.07 * 10000
    front = pareto([1000, 10000], [0.7, 0.07], [0.4, 0.2])
    assert front.kept.tolist() == [700.0]
    assert front.errors.tolist() == [0.2]


def test_of_equal_settings_the_smaller_total_stands():
    front = pareto([2000, 1000], [0.1, 0.2], [0.3, 0.3])
    assert front.total.tolist() == [1000.0]


def test_the_curve_of_the_envelope_is_fit_scaling_of_its_points():
    total = np.repeat([1000.0, 2000.0, 4000.0, 8000.0], 4)
    keep = np.tile([0.25, 0.5, 0.75, 1.0], 4)
    errors = (total * keep) ** -0.5 * (1 + 0.3 * (1 - keep))
    front = pareto(total, keep, errors)
    direct = fit_scaling(front.kept, front.errors)
    assert front.reason == ""
    assert front.fit.forms == direct.forms
    assert len(front) < 16
    assert front.frequency is None
    assert "on the frontier" in str(front)
    assert "Best form" in str(front)


def test_a_thin_envelope_gives_its_reason_instead_of_a_fit():
    front = pareto(1000, [0.1, 0.2, 0.5, 1.0], [0.4, 0.3, 0.35, 0.2])
    assert front.fit is None
    assert "4 distinct" in front.reason
    assert front.reason in str(front)
    free = pareto(1000, [0.1, 0.2, 0.4, 0.6, 0.8, 1.0], [0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    assert "above 0" in free.reason


def test_frequency_tells_firm_points_from_lucky_ones():
    noise = np.random.default_rng(0).standard_normal((4, 8))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, ddof=1, keepdims=True)
    keep = np.repeat([0.2, 0.4, 0.5, 1.0], 8)
    # The means of 0.4 and 0.5 differ by one half of the standard error of their difference, 0.01 / 2.
    errors = (np.array([[0.4], [0.3], [0.2975], [0.1]]) + 0.01 * noise).ravel()
    front = pareto(1000, keep, errors, bootstrap=400)
    often = front.groups.frequency
    assert often[0] == often[1] == often[3] == 1.0
    # Binomial error of 400 draws, and a little for eight runs not being quite normal.
    expected = 0.5 * math.erfc(-0.5 / math.sqrt(2))
    assert often[2] == pytest.approx(expected, abs=3 * math.sqrt(expected * (1 - expected) / 400) + 0.02)


def test_order_of_runs_changes_nothing():
    rng = np.random.default_rng(3)
    total, keep = rng.choice([1000, 2000], 40), rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 40)
    errors = rng.random(40) / (total * keep) ** 0.3
    order = rng.permutation(40)
    one, other = pareto(total, keep, errors), pareto(total[order], keep[order], errors[order])
    np.testing.assert_array_equal(one.kept, other.kept)
    np.testing.assert_array_equal(one.errors, other.errors)
    np.testing.assert_array_equal(one.frequency, other.frequency)


@pytest.mark.parametrize(
    ("total", "keep", "errors", "said"),
    [
        (1000, 0.5, [], "errors of pareto must not be empty"),
        (1000, [0.5, 0.6], [0.1], "keep of pareto must be one number or as many"),
        ([1, 2], 0.5, [0.1], "total of pareto must be one number or as many"),
        (0, 0.5, [0.1], "total of pareto must be above 0"),
        (1000, 0.0, [0.1], r"keep of pareto must be in \(0, 1\]; got 0"),
        (1000, [0.5, 1.5], [0.1, 0.1], r"keep of pareto must be in \(0, 1\]; got 1.5"),
        (1000, 0.5, [-0.1], "errors of pareto must be at least 0"),
        (1000, 0.5, [math.nan], "errors of pareto must be finite"),
        (math.inf, 0.5, [0.1], "total of pareto must be finite"),
    ],
)
def test_bad_runs_are_refused(total, keep, errors, said):
    with pytest.raises(InputError, match=said) as refusal:
        pareto(total, keep, errors)
    assert "\n" not in str(refusal.value)


def test_bad_settings_are_refused_even_where_the_envelope_is_thin():
    with pytest.raises(UnknownNameError, match="nearest: 'power'"):
        pareto(1000, 0.5, [0.1], forms=["powr"])
    with pytest.raises(InputError, match="level of pareto"):
        pareto(1000, 0.5, [0.1], level=2.0)
    with pytest.raises(InputError, match="bootstrap of pareto"):
        pareto(1000, 0.5, [0.1], bootstrap=3)
