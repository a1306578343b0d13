"""From forecasts to advice, worked out by hand: intervals, how far, and the sentences of each case."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from winnow.artefacts.plan import Check, Forecast
from winnow.planning.accuracy_forecast import KEEPS
from winnow.planning.pilot_gains import Gain
from winnow.planning.recommendation import advice_of, calibration_of, forecasts_of, how_far, pilot_of
from winnow.planning.verdict import TRUSTED, Verdict

SURE = Verdict(TRUSTED, (), True)
CHECK = Check("random", 1.0, 1000, 0.8, 0.77, 0.03, 0.01)


def test_an_interval_adds_bootstrap_forms_miss_and_change() -> None:
    bootstrap = np.array([0.3, 0.36, 0.3, 0.3])  # the estimate, then three replicates: variance 0.0008
    found = SimpleNamespace(
        error=lambda size: (bootstrap, 0.01), loss=lambda size, keep: (np.array([0.05, 0.05, 0.05, 0.05]), 0.02)
    )
    gain = Gain({0.5: np.full(4, 0.02), 0.25: np.full(4, 0.06)})
    rows = {
        (row.policy, row.keep): row
        for row in forecasts_of(found, {"candidate": gain, "auto": gain}, 1000, CHECK)  # type: ignore[arg-type]
    }
    assert {policy for policy, _ in rows} == {"random", "auto"}  # the candidate is not what a user gets
    assert len(rows) == 1 + 2 * len(KEEPS)
    row, half = rows["random", 0.5], 1.959964 * math.sqrt(0.0008 + 0.01**2 + 0.03**2)
    assert (row.accuracy, row.low, row.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half))
    assert (row.lost, row.lost_high) == pytest.approx((0.05, 0.05 + 1.959964 * math.hypot(0.02, 0.03)))
    row = rows["auto", 0.25]
    change = math.hypot(0.03, 0.0025)  # half of the gain, and a quarter of a point
    half = 1.959964 * math.sqrt(0.0008 + 0.01**2 + 0.03**2 + change**2)
    assert (row.accuracy, row.low, row.high) == pytest.approx((0.76, 0.76 - half, min(1.0, 0.76 + half)))
    # The miss was over one doubling; a quarter is two of them.
    more = 1.959964 * math.sqrt(0.02**2 + (2 * 0.03) ** 2 + change**2)
    assert (row.lost, row.lost_high) == pytest.approx((-0.01, -0.01 + more))


def table(**lost: dict[float, tuple[float, float]]) -> dict[tuple[str, float], Forecast]:
    """Losses and their upper ends by policy and fraction; a loss of 0.3 elsewhere."""
    made = {("random", 1.0): Forecast(1.0, "random", 0.9, 0.88, 0.92, 0.0, 0.0)}
    for policy in ("random", "auto"):
        for keep in KEEPS:
            centre, high = lost.get(policy, {}).get(keep, (0.3, 0.4))
            made[policy, keep] = Forecast(keep, policy, 0.9 - centre, 0.9 - high, 0.95, centre, high)
    return made


AUTO = {0.9: (0.0, 0.004), 0.8: (0.002, 0.009), 0.7: (0.004, 0.02), 0.6: (0.008, 0.03), 0.5: (0.012, 0.009)}


def test_advice_goes_as_far_as_the_end_of_the_interval_allows() -> None:
    made = table(auto=AUTO)
    assert how_far(made, 0.01, "auto") == 0.8  # half is within it too, but what lies between is not
    assert how_far(made, 0.01, "auto", surely=False) == 0.6
    assert how_far(made, 0.02, "auto") == 0.7
    assert how_far(made, 0.001, "auto") == 1.0
    assert how_far(made, 0.01, "random") == 1.0


def advice(policy: str = "auto", keep: float = 0.8, **given: Any) -> tuple[str, ...]:
    curve = [{"size": 125, "accuracy": 0.61}, {"size": 1000, "accuracy": 0.6}]
    usual: dict[str, Any] = {"tolerance": 0.01, "size": 20_000, "verdict": SURE, "own": True, "curve": curve,
                             "chance": 0.4}  # fmt: skip
    return advice_of(policy, table(auto=AUTO, random={0.9: (0.001, 0.005)}), keep, **{**usual, **given})


def test_the_default_is_advised_beside_random_and_everything() -> None:
    first, second, third, fourth = advice()
    assert first.startswith("Keep what auto chooses, with soft targets, 80% of 20,000")
    assert all(word in first for word in ("89.8", "(89.1 to 95.0)", "90.0", "(88.0 to 92.0)", "60.0 % for a random"))
    assert "within 1 point of" in second
    assert "at most 0.9 points are lost" in second
    assert "Random subsets do so down to 90%" in second
    assert "may go down to 60%: +0.8 points lost, at most 3.0" in third
    assert "room for that difference to vanish or to double" in fourth
    assert "within 2 points of" in advice(tolerance=0.02)[1]
    assert "within 7.5 points of" in advice(tolerance=0.075)[1]


def test_random_is_advised_without_itself_beside_it() -> None:
    said = advice("random", 0.9)
    assert "a random subset, 90%" in said[0]
    assert "Random subsets do so" not in said[1]
    assert not any("difference" in sentence for sentence in said)


def test_a_linear_student_says_so_first_and_last() -> None:
    said = advice("random", 0.9, own=False)
    assert said[0].startswith("For a linear student: keep")
    assert "--pilot" in said[-1]


def test_a_named_method_is_named() -> None:
    made = table(auto=AUTO)
    made |= {("el2n", keep): made["auto", keep] for keep in KEEPS}
    said = advice_of("el2n", made, 0.8, 0.01, 100, SURE, True, [], 0.4)
    assert said[0].startswith("Keep what el2n chooses, 80% of 100")


def test_keeping_everything_says_what_was_expected_and_what_is_likely() -> None:
    first, second, _ = advice(keep=1.0, tolerance=0.003)
    assert "no fraction is sure to stay within 0.3 point of the 90.0 %" in first
    assert "20,000" in first
    assert "may go down to 80%" in second


def test_no_learning_is_no_advice() -> None:
    (said,) = advice(verdict=dataclasses.replace(SURE, learns=False))
    assert said.startswith("No advice")
    assert all(word in said for word in ("125", "61.0", "1,000", "60.0"))


def test_what_was_fitted_is_shown_with_the_middle_95_percent() -> None:
    values = np.concatenate([[7.0], np.arange(1001.0)])
    fit = SimpleNamespace(form="floor", dimension=values, exponent=2 * values, floor=3 * values, weight=values / 7)
    found = SimpleNamespace(
        fits=[fit], reliability=values / 1000, angle=values / 10, probe_angle=lambda size: np.array([size / 100, 0.0])
    )
    shown = calibration_of(found, 500, 0.4)  # type: ignore[arg-type]
    form = shown["forms"]["floor"]
    assert (form["dimension"], form["exponent"], form["floor"], form["weight"]) == (7.0, 14.0, 21.0, 1.0)
    assert form["dimension_interval"] == pytest.approx([25.0, 975.0])
    assert form["exponent_interval"] == pytest.approx([50.0, 1950.0])
    assert shown["angle_interval"] == pytest.approx([2.5, 97.5])
    assert (shown["chance"], shown["reliability"], shown["angle"], shown["probe_angle"]) == (0.4, 0.007, 0.7, 5.0)


def test_what_the_pilot_was() -> None:
    def look(size: int, right: list[int]) -> SimpleNamespace:
        return SimpleNamespace(size=size, correct=np.array(right))

    looks = {("random", 0.5): [look(50, [1, 0]), look(50, [1, 1])], ("hard", 0.5): [look(50, [0, 0])]}
    made = pilot_of(SimpleNamespace(looks=looks, pool=100, held=2, seconds=3.5), False, 250)  # type: ignore[arg-type]
    assert made == {
        "student": "a linear student", "own_network": False, "pool": 100, "held": 2, "trainings": 3, "seconds": 3.5,
        "examples": 250, "factor": 2.5, "curve": [{"size": 50, "accuracy": 0.75}],
    }  # fmt: skip
