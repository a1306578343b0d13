"""The arithmetic of a forecast: angle from agreement, two calibrations, policies; against twins and planted truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import spearmanr

from winnow.core.rank_correlation import drawn_rank_correlations
from winnow.methods import theory
from winnow.planning.accuracy_forecast import (
    FORMS,
    KEEPS,
    angle_reached,
    calibrate,
    hard_error,
    unpruned,
)
from winnow.planning.agreement import angle_of, margin_agreement
from winnow.planning.pilot_arms import PRUNED

SIZES = np.array([250, 500, 1000, 2000])


def margins(angle: float, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Margins that two independent probes at an angle give the same examples."""
    rng = np.random.default_rng(seed)
    theta, u = np.radians(angle), np.abs(rng.normal(size=n))
    first, second = (u * np.cos(theta) + rng.normal(size=n) * np.sin(theta) for _ in range(2))
    return first, second


@pytest.mark.parametrize("angle", [1.0, 10.0, 30.0, 60.0, 85.0])
def test_agreement_of_probes_is_what_simulated_margins_show(angle: float) -> None:
    n = 200_000
    found = spearmanr(*margins(angle, n)).statistic
    assert margin_agreement(angle) == pytest.approx(found, abs=4 / np.sqrt(n))


def test_agreement_runs_from_one_to_nothing() -> None:
    found = [margin_agreement(angle) for angle in np.linspace(0, 90, 91)]
    assert (found[0], found[-1]) == (1.0, 0.0)
    assert (np.diff(found) < 0).all()


def test_the_angle_is_the_agreement_inverted() -> None:
    angles = np.array([0.2, 0.7, 3.3, 12.1, 33.3, 61.7, 80.2, 88.0])
    back = angle_of([margin_agreement(angle) for angle in angles])
    np.testing.assert_allclose(back, angles, atol=2e-3)
    np.testing.assert_array_equal(angle_of([1.0 + 1e-9, 1.0, 0.0, -0.3]), [0.0, 0.0, 90.0, 90.0])


@pytest.mark.parametrize("angle", [5.0, 20.0, 40.0])
def test_the_angle_is_found_again_from_margins(angle: float) -> None:
    n = 20_000
    first, second = margins(angle, n, 1)
    found = angle_of(drawn_rank_correlations(first.astype(np.float32), second.astype(np.float32), np.ones((1, n))))
    slope = (margin_agreement(angle + 0.5) - margin_agreement(angle - 0.5)) / 1.0
    assert found[0] == pytest.approx(angle, abs=4 / np.sqrt(n) / abs(slope))


def test_agreement_under_a_drawing_is_spearman_of_the_drawn() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 12, (2, 60)).astype(np.float32)  # with many ties
    counts = np.stack([np.ones(60), rng.multinomial(60, np.full(60, 1 / 60))]).astype(float)
    for found, count in zip(drawn_rank_correlations(a, b, counts), counts.astype(int), strict=True):
        assert found == pytest.approx(spearmanr(np.repeat(a, count), np.repeat(b, count)).statistic)
    assert drawn_rank_correlations(np.zeros(60, np.float32), b, counts).tolist() == [0.0, 0.0]


def curve(dimension: float, exponent: float, floor: float, chance: float = 0.9) -> np.ndarray:
    alpha = (SIZES / dimension) ** exponent
    return np.log(floor + (chance - floor) * 2 * theory.learning_curve(alpha).error)


@pytest.mark.parametrize(
    ("form", "truth"),
    [
        ("floor", (200.0, 1.0, 0.05)),
        ("floor", (40.0, 1.0, 0.2)),
        ("exponent", (300.0, 0.6, 0.0)),
        ("exponent", (5.0, 0.3, 0.0)),
    ],
)
def test_a_planted_curve_is_found_and_its_form_wins(form: str, truth: tuple[float, float, float]) -> None:
    fits = {fit.form: fit for fit in calibrate(SIZES, curve(*truth), [3, 3, 6, 3], 0.0, 0.9)}
    assert set(fits) == set(FORMS)
    fit = fits[form]
    np.testing.assert_allclose([fit.dimension[0], fit.exponent[0], fit.floor[0]], truth, rtol=1e-5, atol=1e-9)
    assert fit.weight[0] > 0.999
    assert np.log(fit.unpruned_error(1000)[0]) == pytest.approx(curve(*truth)[2], abs=1e-6)


def slowly_fitted(form: str, y: np.ndarray, weights: np.ndarray) -> float:
    """The least sum of squares that scipy finds from many starts, one after the other."""
    top = min(float(np.exp(y.min())), 0.99 * 0.9)
    second = (-9.0, 9.0) if form == "floor" else (np.log(0.05), np.log(4.0))
    low, high = [np.log(SIZES[0]) - 12, second[0]], [np.log(SIZES[-1]) + 5, second[1]]

    def residual(p: np.ndarray) -> np.ndarray:
        b, e0 = (1.0, top / (1 + np.exp(-p[1]))) if form == "floor" else (np.exp(p[1]), 0.0)
        eps = np.exp(unpruned(b * (np.log(SIZES) - p[0]))[0])
        return np.sqrt(weights) * (np.log(e0 + (0.9 - e0) * 2 * eps) - y)

    starts = [(a, z) for a in np.linspace(low[0] + 0.1, high[0] - 0.1, 5) for z in np.linspace(*second, 6)[1:-1]]
    return float(min(2 * least_squares(residual, start, bounds=(low, high)).cost for start in starts))


# From the best grid point alone, one of the two fits of each of these ended in the wrong valley.
VALLEYS = [
    [0.723846, 0.53854, 0.347162, 0.427303],
    [0.52721, 0.674406, 0.628241, 0.459727],
    [0.88, 0.613587, 0.563948, 0.475883],
    [0.390128, 0.88, 0.86537, 0.417989],
]


def test_no_start_finds_a_better_fit() -> None:
    rng = np.random.default_rng(0)
    weights = np.array([3.0, 3, 6, 3])
    noisy = np.concatenate([curve(60, 0.7, 0.03) + 0.05 * rng.normal(size=(8, 4)), np.log(VALLEYS)])
    for fit in calibrate(SIZES, noisy, weights, 0.0, 0.9):
        for row, y in enumerate(noisy):
            assert fit.rss[row] <= slowly_fitted(fit.form, y, weights) + 1e-6


def test_weights_are_shared_when_both_forms_fit_as_badly() -> None:
    flat = np.log(np.full(4, 0.5))
    fits = calibrate(SIZES, flat, [3, 3, 6, 3], 5.0, 0.9)
    assert sum(fit.weight[0] for fit in fits) == pytest.approx(1)
    assert all(fit.weight[0] > 0.3 for fit in fits)


def test_weights_stay_finite_however_many_trainings_agree() -> None:
    fits = calibrate(SIZES, curve(200, 1, 0.05), [100, 100, 200, 100], 0.0, 0.9)
    assert [fit.weight[0] for fit in fits] == pytest.approx([1.0, 0.0])


def test_what_is_said_of_the_hardest_is_the_theory_behind_the_calibration() -> None:
    fit = calibrate(SIZES, curve(100, 1, 0.1), [3, 3, 6, 3], 0.0, 0.9)[0]
    eps = theory.solve(0.25 * 5000 / 100, 0.25, 20.0, "hard").error
    assert hard_error(fit, 5000, 0.25, 20.0) == pytest.approx(0.1 + (0.9 - 0.1) * 2 * eps, rel=1e-4)
    assert hard_error(fit, 5000, 1.0, 20.0) == pytest.approx(fit.unpruned_error(5000)[0], rel=1e-12)


def test_the_hardest_are_never_said_to_be_above_the_whole_they_came_from() -> None:
    """With a slow curve (b < 1) too: a ranked part is worth at most what everything is, as in the theory."""
    fit = calibrate(SIZES, curve(100, 0.3, 0.0), [3, 3, 6, 3], 0.0, 0.9)[1]
    assert fit.exponent[0] == pytest.approx(0.3, rel=1e-3)
    whole = fit.unpruned_error(5000)[0]
    assert min(hard_error(fit, 5000, keep, 5.0) for keep in (0.9, 0.5, 0.1)) > 0.9 * whole


@pytest.mark.parametrize("exponent", [0.3, 0.7, 1.5])
def test_a_useless_probe_ranks_at_random(exponent: float) -> None:
    fit = calibrate(SIZES, curve(100, exponent, 0.0), [3, 3, 6, 3], 0.0, 0.9)[1]
    for keep in (0.7, 0.2):
        random = fit.unpruned_error(keep * 5000)[0]
        assert hard_error(fit, 5000, keep, 90.0) == pytest.approx(random, rel=1e-4)


def test_a_probe_that_sees_more_stands_closer() -> None:
    fit = calibrate(SIZES, curve(100, 1, 0.0), [3, 3, 6, 3], 0.0, 0.9)[1]
    measured = np.array([30.0])
    assert angle_reached(fit, measured, 1000, 1000)[0] == pytest.approx(30.0)
    near = theory.solve(100.0).error / theory.solve(10.0).error
    assert angle_reached(fit, measured, 1000, 10_000)[0] == pytest.approx(30.0 * near, rel=1e-3)
    assert angle_reached(fit, measured, 1000, 1)[0] <= 90.0
    assert angle_reached(fit, np.array([0.5]), 1000, 1000)[0] == pytest.approx(0.5)


def test_fractions_fall_in_small_steps_and_meet_those_of_the_pilot() -> None:
    """The advice goes down the fractions and stops at the first that does not hold."""
    steps = -np.diff([1.0, *KEEPS])
    assert (steps > 0).all()
    assert steps.max() < 0.11
    assert 0 < KEEPS[-1] <= 0.05
    assert set(PRUNED) <= set(KEEPS)


def test_a_cliff_is_no_power_law() -> None:
    """Rates beyond 4 are not believed, however steeply the error falls; those below it are found."""
    for rate, found in ((3.0, 3.0), (6.0, 4.0)):
        fit = calibrate(SIZES, curve(700, rate, 0.0), [3, 3, 6, 3], 0.0, 0.9)[1]
        assert fit.exponent[0] == pytest.approx(found, rel=1e-3)


def test_beyond_all_data_the_error_goes_on_falling_or_stays() -> None:
    """The theory's error falls as 1 / alpha; what lies outside the table is taken from its end."""
    log_error, slope = unpruned(np.log([1e5, 1e6, 1e30]))
    assert log_error[0] - log_error[1] == pytest.approx(np.log(10), abs=0.01)
    assert slope[1] == pytest.approx(-1, abs=0.01)
    assert log_error[2] <= log_error[1]
    nothing = np.exp(unpruned(np.log([1e-30]))[0])
    assert nothing == pytest.approx(0.5, abs=0.01)  # as good as a guess
