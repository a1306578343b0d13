import math

import numpy as np
import pytest

from tests.oracles.scaling import CURVES, aicc, grid_fit, squares
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.theory.scaling_laws import fit_scaling

SIZES = np.geomspace(100, 20000, 10)
TRUTH = {
    "power": {"c": 3.0, "b": 0.4},
    "floor": {"e0": 0.05, "c": 3.0, "b": 0.6},
    "exponential": {"c": 0.5, "n0": 6000.0},
    "stretched": {"c": 0.8, "n0": 2000.0, "b": 0.5},
}
FORMS = list(TRUTH)


def measured(form, noise=0.0, repeats=1, seed=0, sizes=SIZES):
    sizes = np.repeat(sizes, repeats)
    scatter = np.random.default_rng(seed).standard_normal(sizes.size)
    return sizes, CURVES[form](sizes, **TRUTH[form]) * np.exp(noise * scatter)


@pytest.mark.parametrize("form", FORMS)
def test_noise_free_curves_give_back_their_form_and_parameters(form):
    fit = fit_scaling(*measured(form), bootstrap=0)
    assert fit.best == form
    assert fit.decided
    assert fit.learns
    assert fit.forms[form].parameters == pytest.approx(TRUTH[form], rel=1e-6)
    assert sum(one.weight for one in fit.forms.values()) == pytest.approx(1.0)
    assert fit.predict(50000.0) == pytest.approx(CURVES[form](50000.0, **TRUTH[form]), rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_the_right_form_wins_at_three_per_cent_noise(form):
    sizes, errors = measured(form, noise=0.03, repeats=4, seed=1)
    fit = fit_scaling(sizes, errors)
    assert fit.best == form
    for name, (low, high) in fit.forms[form].intervals.items():
        assert low < TRUTH[form][name] < high
    n = sizes.size
    # The scatter of a standard deviation is about 1 / sqrt(2 n) of it.
    assert fit.forms[form].residual_sd == pytest.approx(0.03, rel=4 / math.sqrt(2 * n))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
def test_fits_are_as_low_as_a_closing_grid(form, seed):
    # Fitted to another form's data too, where the surface is least friendly.
    sizes, errors = measured(FORMS[(FORMS.index(form) + seed) % 4], noise=0.1, seed=seed, sizes=SIZES[::2].repeat(2))
    one = fit_scaling(sizes, errors, forms=[form], bootstrap=0).forms[form]
    found = squares(form, one.parameters, sizes, errors)
    slow = grid_fit(form, sizes, errors, cells=15, zooms=30)
    assert found <= slow * (1 + 1e-6)
    assert one.aic == pytest.approx(aicc(found, sizes.size, len(one.parameters)), abs=1e-6)
    assert one.residual_sd == pytest.approx(math.sqrt(found / (sizes.size - len(one.parameters))))


def test_straight_forms_equal_the_grid_from_both_sides():
    for form in ("power", "exponential"):
        sizes, errors = measured(form, noise=0.1, seed=4)
        one = fit_scaling(sizes, errors, forms=[form], bootstrap=0).forms[form]
        assert squares(form, one.parameters, sizes, errors) == pytest.approx(grid_fit(form, sizes, errors), rel=1e-8)


def test_the_theory_like_curve_has_exponent_one():
    alpha = np.array([5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0])
    fit = fit_scaling(alpha, 0.5 / alpha)
    assert fit.best == "power"
    assert fit.forms["power"].parameters == pytest.approx({"c": 0.5, "b": 1.0}, rel=1e-9)
    assert fit.forms["floor"].parameters["e0"] == 0.0
    assert "power law" in fit.forms["floor"].note


@pytest.mark.parametrize("form", FORMS)
def test_the_unit_of_size_changes_nothing_but_the_scale(form):
    sizes, errors = measured(form, noise=0.05, repeats=2, seed=3)
    one, other = fit_scaling(sizes, errors, bootstrap=60), fit_scaling(1000 * sizes, errors, bootstrap=60)
    assert one.best == other.best
    for name, mine in one.forms.items():
        assert other.forms[name].aic == pytest.approx(mine.aic, abs=1e-6)
        np.testing.assert_allclose(other.predict(3e6, form=name), one.predict(3e3, form=name), rtol=1e-6)
        np.testing.assert_allclose(other.interval(3e6, form=name), one.interval(3e3, form=name), rtol=1e-5)
        if "n0" in mine.parameters:
            assert other.forms[name].parameters["n0"] == pytest.approx(1000 * mine.parameters["n0"], rel=1e-4)
        if "b" in mine.parameters:
            assert other.forms[name].parameters["b"] == pytest.approx(mine.parameters["b"], rel=1e-4)


def test_the_unit_of_error_scales_the_prediction_and_moves_no_weight():
    sizes, errors = measured("floor", noise=0.05, seed=3)
    one, other = fit_scaling(sizes, errors, bootstrap=0), fit_scaling(sizes, 100 * errors, bootstrap=0)
    np.testing.assert_allclose(other.predict(sizes), 100 * one.predict(sizes), rtol=1e-8)
    assert [f.weight for f in other.forms.values()] == pytest.approx([f.weight for f in one.forms.values()], abs=1e-6)


def test_seed_order_and_other_forms_do_not_shift_the_answer():
    sizes, errors = measured("power", noise=0.05, repeats=3)
    order = np.random.default_rng(8).permutation(sizes.size)
    one, shuffled = fit_scaling(sizes, errors, seed=4), fit_scaling(sizes[order], errors[order], seed=4)
    alone = fit_scaling(sizes, errors, seed=4, forms="power")
    assert one.forms == shuffled.forms
    assert alone.forms["power"].intervals == one.forms["power"].intervals
    assert fit_scaling(sizes, errors, seed=5).forms["power"].intervals != one.forms["power"].intervals


@pytest.mark.parametrize(("form", "trials", "draws"), [("power", 300, 200), ("stretched", 60, 120)])
def test_intervals_cover_the_truth_as_often_as_they_say(form, trials, draws):
    sizes, points = np.geomspace(100, 12800, 8), np.array([150.0, 1500.0, 25600.0])
    truth, hits = CURVES[form](points, **TRUTH[form]), np.zeros(3)
    for seed in range(trials):
        fit = fit_scaling(*measured(form, 0.05, 2, seed, sizes), forms=[form], bootstrap=draws, level=0.9)
        low, high = fit.interval(points)
        hits += (low <= truth) & (truth <= high)
    # Three binomial errors, and a hundredth for what a bootstrap of sixteen points cannot promise.
    tolerance = 3 * math.sqrt(0.9 * 0.1 / trials) + 0.01
    assert np.all(np.abs(hits / trials - 0.9) < tolerance), hits / trials


def test_intervals_widen_beyond_the_data_and_with_the_level():
    sizes, errors = measured("power", noise=0.05)
    fit, wide = fit_scaling(sizes, errors), fit_scaling(sizes, errors, level=0.99)
    low, high = (np.log(end) for end in fit.interval([1500.0, 2e6]))
    assert (high - low)[1] > 2 * (high - low)[0]
    assert wide.interval(1500.0)[1] > fit.interval(1500.0)[1]
    assert fit.interval(1500.0)[0] < fit.predict(1500.0) < fit.interval(1500.0)[1]
    assert fit.predict(sizes).shape == sizes.shape
    assert fit.predict(10.0).shape == ()


def test_forms_that_cannot_be_told_apart_are_called_undecided():
    sizes, errors = measured("power", noise=0.2, sizes=np.geomspace(1000, 2000, 8), seed=2)
    fit = fit_scaling(sizes, errors)
    ranked = sorted(one.aic for one in fit.forms.values())
    assert ranked[1] - ranked[0] < 2
    assert not fit.decided
    assert "ndecided" in str(fit) or "constant" in str(fit)


def test_a_level_cloud_is_not_said_to_learn():
    seeds = [s for s in range(40) if np.polyfit(range(8), np.random.default_rng(s).standard_normal(8), 1)[0] < -0.01]
    scatter = np.random.default_rng(seeds[0]).standard_normal(8)
    fit = fit_scaling(np.geomspace(100, 12800, 8), 0.3 * np.exp(0.02 * scatter))
    assert not fit.learns
    assert not fit.decided
    assert "do not show that more data helps" in str(fit)


def test_forms_without_enough_points_are_left_out_and_named():
    sizes, errors = measured("power", noise=0.02, sizes=SIZES[:5])
    fit = fit_scaling(sizes, errors)
    assert set(fit.forms) == {"power", "exponential"}
    assert set(fit.left_out) == {"floor", "stretched"}
    assert "at least 6 errors" in fit.left_out["floor"]
    assert "left out" in str(fit)


def test_a_single_form_is_never_called_decided():
    fit = fit_scaling(*measured("power", noise=0.02), forms=["power"])
    assert fit.forms["power"].weight == 1.0
    assert not fit.decided
    assert "No other form" in str(fit)


def test_a_form_that_would_have_to_rise_is_left_out():
    # A fast fall and then a slow rise: against log n it falls, against n it rises.
    sizes = np.array([10, 20, 40, 80, 1000, 10000, 20000.0])
    fit = fit_scaling(sizes, [0.9, 0.6, 0.4, 0.3, 0.3, 0.5, 0.6])
    assert "does not fall" in fit.left_out["exponential"]
    assert np.all(np.diff(fit.predict(sizes)) <= 0)


def test_extreme_scales_stay_finite():
    sizes = np.geomspace(1e9, 1.1e9, 8)
    fit = fit_scaling(sizes, np.exp(-200 * np.log(sizes / 1e9)) * 1e-12)
    assert fit.best in ("power", "exponential", "stretched")
    assert all(np.isfinite(v) for one in fit.forms.values() for v in one.parameters.values())
    assert np.all(np.isfinite(fit.predict(sizes)))
    assert fit_scaling(*measured("exponential")).predict(1e300) == 0.0


def test_the_words_name_form_parameters_and_margin():
    text = str(fit_scaling(*measured("floor", noise=0.02, repeats=2)))
    assert "Best form: floor, e = e0 + c n^-b, with e0 = 0.0" in text
    assert "The evidence for it is" in text
    assert "95 % bootstrap intervals" in text
    assert "20 errors at 10 sizes from 100 to 20000" in text


@pytest.mark.parametrize(
    ("sizes", "errors", "said"),
    [
        ([], [], "must not be empty"),
        ([1, 2, 3], [0.3, 0.2, 0.1], "at least 4 distinct"),
        ([1, 1, 2, 2, 3, 3], [0.3, 0.31, 0.2, 0.21, 0.1, 0.11], "at least 4 distinct"),
        ([1, 2, 3, 4], [0.4, 0.3, 0.2, 0.1], "at least 5 errors and has 4"),
        ([1, 2, 3, 4, 5], [0.4, 0.3, 0.2, 0.1], "equal lengths"),
        ([0, 2, 3, 4, 5], [0.5, 0.4, 0.3, 0.2, 0.1], "sizes of fit_scaling must be above 0"),
        ([1, 2, 3, 4, 5], [0.5, 0.4, 0.3, 0.2, 0.0], "errors of fit_scaling must be above 0"),
        ([1, 2, 3, 4, 5], [0.5, 0.4, math.nan, 0.2, 0.1], "must be finite"),
        ([1, 2, 3, 4, math.inf], [0.5, 0.4, 0.3, 0.2, 0.1], "must be finite"),
        ([1, 2, 3, 4, 5], [0.3] * 5, "must vary"),
        ([1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.4, 0.5], "nothing is learned"),
        ([[1, 2], [3, 4]], [0.1, 0.2], "dimension"),
        (["a", "b"], [0.1, 0.2], "array of numbers"),
    ],
)
def test_bad_measurements_are_refused(sizes, errors, said):
    with pytest.raises(InputError, match=said) as refusal:
        fit_scaling(sizes, errors)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"forms": []}, "at least one"),
        ({"forms": 3}, "forms of fit_scaling"),
        ({"bootstrap": -1}, "bootstrap"),
        ({"bootstrap": 10}, "0 or at least 40"),
        ({"level": 1.0}, "level"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    with pytest.raises(InputError, match=said):
        fit_scaling(*measured("power"), **settings)


def test_unknown_forms_get_the_nearest_name_and_reading_back_is_checked():
    with pytest.raises(UnknownNameError, match="nearest: 'exponential'"):
        fit_scaling(*measured("power"), forms=["exponental"])
    fit = fit_scaling(*measured("power"), forms=["power"], bootstrap=0)
    with pytest.raises(UnknownNameError):
        fit.predict(10, form="floor")
    with pytest.raises(InputError, match="above 0"):
        fit.predict(-1)
    with pytest.raises(InputError, match="bootstrap"):
        fit.interval(10)
