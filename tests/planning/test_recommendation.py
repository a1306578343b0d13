"""From forecasts to advice, worked out by hand: intervals, and the sentences of each case."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from winnow.artefacts.plan import Check, Forecast
from winnow.planning.accuracy_forecast import KEEPS
from winnow.planning.recommendation import (
    advice_of,
    calibration_of,
    choice_of,
    failed,
    forecasts_of,
    how_far,
    pilot_of,
)
from winnow.planning.verdict import TRUSTED, Verdict

SURE = Verdict(TRUSTED, (), True, True, {})


def check(policy: str, keep: float, miss: float, error: float = 0.0) -> Check:
    return Check(policy, keep, 100, 0.8, 0.8 - miss, miss, error)


CHECKS = [check("random", 1.0, 0.03), check("hard", 0.5, 0.04), check("hard", 0.25, 0.0), check("easy", 0.5, -0.02),
          check("easy", 0.25, 0.06)]  # fmt: skip


def test_an_interval_adds_bootstrap_forms_and_misses() -> None:
    bootstrap = np.array([0.3, 0.36, 0.3, 0.3])  # the estimate, then three replicates: variance 0.0008
    found = SimpleNamespace(error=lambda size, keep, policy: (bootstrap, 0.01))
    rows = {(row.policy, row.keep): row for row in forecasts_of(found, 1000, CHECKS)}  # type: ignore[arg-type]
    assert len(rows) == 1 + 4 * len(KEEPS)
    misses = {
        ("random", 1.0): 0.03**2,
        ("random", 0.05): 0.03**2,
        ("hard", 0.9): (0.04**2 + 0.02**2) / 2,  # of rankings at the nearest fraction that was tried
        ("easy", 0.4): (0.04**2 + 0.02**2) / 2,
        ("window", 0.3): (0.0**2 + 0.06**2) / 2,
        ("hard", 0.05): (0.0**2 + 0.06**2) / 2,
    }
    for (policy, keep), square in misses.items():
        row, half = rows[policy, keep], 1.959964 * math.sqrt(0.0008 + 0.01**2 + square)
        assert (row.accuracy, row.low, row.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half))


def test_an_interval_stays_within_what_is_possible() -> None:
    for error in (0.01, 0.99):
        spread = np.concatenate([[error], np.tile([0.0, 1.0], 100)])
        found = SimpleNamespace(error=lambda size, keep, policy, spread=spread: (spread, 0.0))
        for row in forecasts_of(found, 1000, CHECKS):  # type: ignore[arg-type]
            assert 0 <= row.low <= row.accuracy <= row.high <= 1
            assert row.low == 0 or row.high == 1


def test_only_rankings_can_fail() -> None:
    assert failed([check("easy", 0.5, 0.2)])
    assert failed([check("easy", 0.5, 0.005), check("easy", 0.25, 0.2), check("hard", 0.5, 0.005)])  # one is enough
    assert not failed([check("random", 1.0, 0.2), check("hard", 0.5, 0.005)])


def table(**lines: list[float]) -> dict[tuple[str, float], Forecast]:
    found = {("random", 1.0): Forecast(1.0, "random", 0.9, 0.8, 1.0)}
    for policy in ("random", "hard", "easy", "window"):
        for keep, value in zip(KEEPS, lines.get(policy, [0.5] * len(KEEPS)), strict=True):
            found[policy, keep] = Forecast(keep, policy, value, 0.0, 1.0)
    return found


def test_how_far_stops_at_the_first_fraction_that_does_not_hold() -> None:
    gap = [0.9, 0.9, 0.895, 0.8, *[0.9] * (len(KEEPS) - 4)]
    assert how_far(table(hard=gap), 0.01, lambda _: ("hard",)) == ("hard", KEEPS[2])
    assert how_far(table(), 0.01, lambda _: ("hard",)) == ("everything", 1.0)
    assert how_far(table(), 0.4, lambda _: ("hard",)) == ("hard", KEEPS[-1])  # 0.5 is just within 0.4 of 0.9


def test_less_than_a_tenth_of_a_point_is_no_reason_to_rank() -> None:
    hard = [0.9] * len(KEEPS)
    for random, taken in ((0.8995, "random"), (0.8985, "hard")):
        found = how_far(table(hard=hard, random=[random] * len(KEEPS)), 0.01, lambda _: ("random", "hard"))
        assert found == (taken, KEEPS[-1])


def test_the_simplest_of_equal_policies_is_taken_and_the_measurement_goes_first() -> None:
    good = [0.9] * len(KEEPS)
    came = [Check(policy, keep, 9, 0.8, 0.8, 0.0, 0.01) for policy in ("hard", "easy") for keep in (0.5, 0.25)]
    tried = 0.25  # no ranking is advised below what the pilot tried
    assert choice_of(table(hard=good, window=good), 0.01, SURE, came) == ("hard", tried)
    assert choice_of(table(hard=good, random=good), 0.01, SURE, came) == ("random", KEEPS[-1])
    assert choice_of(table(hard=good, window=[0.95] * len(KEEPS)), 0.01, SURE, came) == ("window", tried)
    missed = [dataclasses.replace(c, miss=0.3) if (c.policy, c.keep) == ("hard", 0.25) else c for c in came]
    assert choice_of(table(hard=good), 0.01, SURE, missed) == ("hard", 0.4)  # nearer to the half, which came out
    easy = [dataclasses.replace(c, miss=0.3) if c.policy == "easy" else c for c in came]
    assert choice_of(table(window=good), 0.01, SURE, easy) == ("everything", 1.0)
    measured = dataclasses.replace(SURE, instead={0.5: "random", 0.25: "easy"})
    half = [0.9 if keep >= 0.5 else 0.5 for keep in KEEPS]
    assert choice_of(table(hard=good, random=half), 0.01, measured, came) == ("random", 0.5)
    assert choice_of(table(hard=good), 0.01, dataclasses.replace(SURE, ranks=False), came) == ("everything", 1.0)
    assert choice_of(table(hard=good), 0.01, dataclasses.replace(SURE, learns=False), came) == ("everything", 1.0)


def advice(policy: str = "hard", keep: float = 0.5, **given: Any) -> tuple[str, ...]:
    table = {(p, k): Forecast(k, p, 0.8, 0.75, 0.85) for p in ("random", "hard", "easy", "window") for k in KEEPS}
    table["random", 1.0] = Forecast(1.0, "random", 0.9, 0.88, 0.92)
    table["hard", 0.5] = Forecast(0.5, "hard", 0.895, 0.86, 0.93)
    curve = [{"size": 125, "accuracy": 0.61}, {"size": 1000, "accuracy": 0.6}]
    usual: dict[str, Any] = {"alone": 0.7, "tolerance": 0.01, "size": 20_000, "verdict": SURE, "own": True,
                             "missed": False, "curve": curve, "chance": 0.4}  # fmt: skip
    return advice_of(policy, table, keep, **{**usual, **given})


def test_a_ranking_is_advised_beside_random_and_everything() -> None:
    first, second = advice()
    assert first.startswith("Keep the hard examples, 50% of 20,000")
    assert all(word in first for word in ("89.5", "(86.0 to 93.0)", "90.0", "(88.0 to 92.0)", "80.0"))
    assert "within 1 point of" in second
    assert "a loss of 4.0" in second  # 90.0 less 86.0
    assert "70%" in second
    assert "No ranking" not in second
    assert "within 2 points of" in advice(tolerance=0.02)[1]
    assert "within 7.5 points of" in advice(tolerance=0.075)[1]
    assert "no fraction" in advice(alone=1.0)[1]


def test_random_is_advised_without_itself_beside_it() -> None:
    first, second = advice("random", 0.4)
    assert "a random subset, 40%" in first
    assert first.count("80.0") == 1
    assert "No ranking is forecast to be clearly better" in second
    assert "70%" not in second
    for given in ({"missed": True}, {"verdict": dataclasses.replace(SURE, ranks=False)},
                  {"verdict": dataclasses.replace(SURE, instead={0.5: "random"})}):  # fmt: skip
        assert not any("No ranking" in sentence for sentence in advice("random", 0.4, **given))


def test_keeping_everything_says_what_was_expected_of_it() -> None:
    (said,) = advice("everything", 1.0)
    assert "90%" in said
    assert "90.0" in said
    assert "20,000" in said


def test_no_learning_is_no_advice() -> None:
    (said,) = advice(verdict=dataclasses.replace(SURE, learns=False))
    assert said.startswith("No advice")
    assert all(word in said for word in ("125", "61.0", "1,000", "60.0"))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"verdict": dataclasses.replace(SURE, instead={0.5: "hard"})}, "contradicts"),
        ({"verdict": dataclasses.replace(SURE, instead={0.5: "hard"}), "missed": True}, "contradicts"),
        ({"verdict": dataclasses.replace(SURE, ranks=False)}, "only random subsets"),
        ({"missed": True}, "only where the forecast was right"),
        ({"own": False}, "linear student"),
    ],
)
def test_a_caveat_is_the_last_word(given: dict[str, Any], word: str) -> None:
    said = advice(**given)
    assert len(said) == 3
    assert word in said[-1]
    assert said[0].startswith("For a linear student: keep") is (given.get("own") is False)


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
