"""How far a forecast is trusted: what is resampled, and the rules, on pilots whose errors are planted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from winnow.artefacts.pilot_training import PilotTraining
from winnow.artefacts.plan import Check
from winnow.planning.accuracy_forecast import Calibration
from winnow.planning.pilot import Pilot
from winnow.planning.verdict import CARE, NOT, TRUSTED, Forecaster, Verdict, check_of, considering, forecaster, judge

HELD = 2000
CURVE = {("random", 0.125): [0.4, 0.5], ("random", 0.25): [0.3, 0.4], ("random", 1.0): [0.1]}
HALVES = {("random", 0.5): [0.2, 0.3]}


def look(error: float, size: int, seed: int) -> PilotTraining:
    """A training that is wrong about a share of the held-out examples; probes agree well which are hard."""
    rng = np.random.default_rng(seed)
    margins = np.linspace(-1, 1, HELD) + 0.3 * rng.normal(size=HELD)
    right = np.ones(HELD, dtype=np.uint8)
    right[np.argsort(margins)[: round(error * HELD)]] = 0
    return PilotTraining(size, 10, right, margins.astype(np.float32), 1.0)


def pilot(errors: Mapping[tuple[str, float], Sequence[float]], pool: int = 1600) -> Pilot:
    looks = {
        (policy, keep): [look(error, round(keep * pool), 10 * place + turn) for turn, error in enumerate(each)]
        for place, ((policy, keep), each) in enumerate(errors.items())
    }
    return Pilot(pool, HELD, looks, 1.0)


@pytest.mark.parametrize("errors", [[0.2, 0.4], [0.2, 0.3, 0.4], [0.1, 0.2, 0.2, 0.3]])
def test_few_trainings_are_as_uncertain_as_a_mean_of_so_many(errors: list[float]) -> None:
    """Drawing k of k anew understates the variance of a mean of k by (k - 1) / k; for two that is half of it."""
    made = pilot({**CURVE, **HALVES, ("random", 0.25): errors})
    found = np.mean([forecaster(made, 0.9, seed)[1].errors["random", 0.25][1:].var() for seed in range(3)])
    held_out = np.mean(errors) * (1 - np.mean(errors)) / HELD
    assert np.sqrt(found) == pytest.approx(np.sqrt(np.var(errors, ddof=1) / len(errors) + held_out), rel=0.1)


def test_the_first_row_is_what_was_measured() -> None:
    made = pilot({**CURVE, **HALVES, ("random", 1.0): [0.0]})
    _, seen = forecaster(made, 0.9, 0)
    assert seen.errors["random", 0.25][0] == pytest.approx(0.35)
    assert seen.logs["random", 0.25][0] == pytest.approx(np.log([0.3, 0.4]).mean())
    assert seen.scatter["random", 0.25][0] == pytest.approx(np.log([0.3, 0.4]).var() * 2)
    assert seen.errors["random", 1.0][0] == pytest.approx(0.5 / HELD)  # none is better than half an example wrong
    first, second = (look.margins for look in made.looks["random", 0.5])
    assert seen.reliability[0] == pytest.approx(spearmanr(first, second).statistic)
    assert len(seen.reliability) == len(seen.errors["random", 1.0])


def test_one_training_has_the_scatter_of_the_others() -> None:
    errors = {("random", 0.125): [0.3, 0.5], ("random", 0.25): [0.25, 0.4], ("random", 0.5): [0.2, 0.3]}
    made = pilot({**errors, ("random", 1.0): [0.2], ("hard", 0.5): [0.25], ("hard", 0.25): [0.1, 0.5]})
    scatter = np.sqrt(sum(np.log(each).var() * 2 for each in errors.values()) / 3)  # hard has no part in it
    held_out = np.sqrt(0.8 / 0.2 / HELD)
    for group in (("random", 1.0), ("hard", 0.5)):
        found = [forecaster(made, 0.9, seed)[1] for seed in range(3)]
        for one in found:  # in every replicate the error and its log are of the same draw
            np.testing.assert_allclose(one.errors[group], np.exp(one.logs[group]))
        spread = np.mean([one.logs[group][1:].std() for one in found])
        assert spread == pytest.approx(np.hypot(scatter, held_out), rel=0.12)


def test_where_the_others_came_out_alike_one_training_has_no_scatter() -> None:
    """The scatter is that of the estimate: the draws of held-out examples have no part in it."""
    alike = {("random", 0.125): [0.4, 0.4], ("random", 0.25): [0.3, 0.3], ("random", 0.5): [0.2, 0.2]}
    _, seen = forecaster(pilot({**alike, ("random", 1.0): [0.0]}), 0.9, 0)
    assert seen.logs["random", 0.25].std() > 0
    np.testing.assert_allclose(seen.logs["random", 1.0], np.log(0.5 / HELD))


def test_the_largest_part_is_forecast_from_all_smaller_ones() -> None:
    def forecast(changed: Mapping[tuple[str, float], Sequence[float]]) -> float:
        made = pilot({**CURVE, **HALVES, **changed})
        return check_of(made, forecaster(made, 0.9, 0)[1], 0.9).forecast

    usual = forecast({})
    assert forecast({("random", 1.0): [0.2]}) == pytest.approx(usual)
    assert forecast({("random", 0.125): [0.45, 0.55]}) != pytest.approx(usual, abs=1e-3)
    assert forecast({("random", 0.5): [0.25, 0.35]}) < usual - 1e-3


def test_the_held_out_point_is_asked_about_as_it_was_measured() -> None:
    made = pilot({**CURVE, **HALVES})
    found, seen = forecaster(made, 0.9, 0)
    check = check_of(made, seen, 0.9)
    assert (check.policy, check.keep, check.size, check.measured) == ("random", 1.0, 1600, pytest.approx(0.9))
    assert check.miss == pytest.approx(check.measured - check.forecast)
    assert 0.003 < check.standard_error < 0.3
    # It is forecast by a curve that has not seen it.
    assert check.forecast != pytest.approx(1 - found.error(1600)[0][0], abs=1e-6)


# ---------------------------------------------------------------- the rules

POOL = 1000
RANDOM = {0.125: 0.4, 0.25: 0.3, 0.5: 0.2, 1.0: 0.1}


def missed(miss: float, error: float = 0.001) -> Check:
    return Check("random", 1.0, POOL, 0.9, 0.9 - miss, miss, error)


def told(
    check: Check | None = None,
    first: float = 0.4,
    own: bool = True,
    size: int = POOL,
    sizes: Sequence[int] = (125, 250, 500, 1000),
    suspects: float | None = 0.0,
) -> Verdict:
    """The verdict on a world that came out as forecast but for what is given."""
    noise = np.concatenate([[0.0], np.random.default_rng(0).permutation(np.repeat([-0.001, 0.001], 100))])
    errors = {("random", keep): error + noise for keep, error in {**RANDOM, 0.125: first}.items()}
    errors["random", 1.0] = 0.1 - noise
    looks = {("random", keep): [SimpleNamespace(size=n)] for keep, n in zip(RANDOM, sizes, strict=True)}
    observed = None if suspects is None else SimpleNamespace(suspects=suspects)
    return judge(
        SimpleNamespace(looks=looks, pool=POOL, observed=observed),  # type: ignore[arg-type]
        SimpleNamespace(errors=errors),  # type: ignore[arg-type]
        check or missed(0.005),
        own,
        size,
    )


def test_all_as_forecast_is_trusted() -> None:
    assert told() == Verdict(TRUSTED, ("the forecast was right at the held-out pilot point",), True)


@pytest.mark.parametrize(
    ("given", "trust", "word"),
    [
        ({"own": False, "suspects": None}, CARE, "linear student"),
        ({"size": 10 * POOL}, TRUSTED, "the forecast was right"),
        ({"size": 11 * POOL}, CARE, "11 times"),
        ({"size": 50 * POOL}, CARE, "50 times"),
        ({"size": 51 * POOL}, NOT, "51 times"),
        ({"check": missed(0.03)}, CARE, "+3.0 points off the forecast"),
        ({"check": missed(-0.03)}, CARE, "-3.0 points off the forecast"),
        ({"check": missed(0.03, 0.02)}, TRUSTED, "the forecast was right"),
        ({"check": missed(0.05)}, CARE, "+5.0 points"),
        ({"check": missed(-0.051)}, NOT, "-5.1 points"),
        ({"sizes": (125, 250, 250, 1000)}, NOT, "fewer than 4"),
        ({"suspects": 0.049}, TRUSTED, "the forecast was right"),
        ({"suspects": 0.08}, CARE, "disagrees with 8% of the pilot's labels"),
    ],
)
def test_the_rules(given: dict[str, Any], trust: str, word: str) -> None:
    verdict = told(**given)
    assert verdict.trust == trust
    assert len(verdict.reasons) == 1
    assert word in verdict.reasons[0]
    assert verdict.learns


@pytest.mark.parametrize(("fall", "learns"), [(0.0, False), (0.0035, False), (0.0045, True), (-0.1, False)])
def test_learning_is_an_error_that_falls_beyond_its_noise(fall: float, learns: bool) -> None:
    """Here the two errors move against each other by 0.001 each, so their difference has a deviation of 0.002."""
    verdict = told(first=0.1 + fall)
    assert verdict.learns is learns
    assert verdict.trust == (TRUSTED if learns else NOT)


def test_fatal_reasons_come_first_and_doubts_are_kept() -> None:
    verdict = told(first=0.1, own=False, size=20 * POOL)
    assert [("did not fall" in r, "20 times" in r, "linear" in r) for r in verdict.reasons] == [
        (True, False, False), (False, True, False), (False, False, True)
    ]  # fmt: skip


def test_the_spread_between_the_forms_is_that_of_their_weights() -> None:
    """Two values with weights w and 1 - w have the standard deviation sqrt(w (1 - w)) times their distance."""
    grown = np.array([1.0, 1.5, 2.0])  # replicates differ, and the spread is that of the estimate
    fits = [
        Calibration(form, dimension * grown, np.ones(3), np.zeros(3), 0.9, np.ones(3), weight)
        for form, dimension, weight in (
            ("floor", 40.0, np.array([0.3, 0.5, 0.6])),
            ("exponent", 160.0, np.array([0.7, 0.5, 0.4])),
        )
    ]
    found = Forecaster(fits, np.full(3, 0.9), 100)
    one, other = (fit.unpruned_error(1000) for fit in fits)
    mixed, spread = found.error(1000)
    np.testing.assert_allclose(mixed, fits[0].weight * one + fits[1].weight * other)
    assert spread == pytest.approx(math.sqrt(0.3 * 0.7) * abs(one[0] - other[0]))
    lost, apart = found.loss(1000, 0.5)  # the forms differ less about a difference than about either end
    halves = [fit.unpruned_error(500) - fit.unpruned_error(1000) for fit in fits]
    np.testing.assert_allclose(lost, found.error(500)[0] - mixed)
    assert apart == pytest.approx(math.sqrt(0.3 * 0.7) * abs(halves[0][0] - halves[1][0]))


SURE = Verdict(TRUSTED, (), True)


def test_what_the_pilot_was_not_near_is_not_simply_trusted() -> None:
    assert considering(SURE, 0.25, 0.0) == SURE
    assert considering(SURE, 0.2, 0.0).trust == CARE
    strained = considering(SURE, 0.5, 0.05)
    assert strained.trust == CARE
    assert "5.0 points above the full data" in strained.reasons[0]
    assert "8.0 points above" in considering(SURE, 0.5, 0.08).reasons[0]
    assert considering(SURE, 0.5, 0.01) == SURE  # a point is near enough
    assert considering(dataclasses.replace(SURE, trust=NOT), 0.2, 0.0).trust == NOT


def test_a_hit_is_within_a_point_or_two_standard_errors() -> None:
    check = Check("hard", 0.5, 100, 0.9, 0.9, 0.009, 0.0)
    assert check.hit
    assert not dataclasses.replace(check, miss=0.03, standard_error=0.01).hit
    assert dataclasses.replace(check, miss=-0.03, standard_error=0.016).hit
