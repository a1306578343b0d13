"""The study of the label check: planted errors are what they are said to be, and the report says what it should."""

from __future__ import annotations

import numpy as np
import pytest
from studies.checking import judging
from studies.checking.annotators import annotator
from studies.checking.calibration import bounds, numbers, others, report
from studies.checking.noise import flipped, noisy
from studies.checking.observed import observed

import winnow as wn


@pytest.fixture(scope="module")
def digits() -> wn.Source:
    return wn.open("digits", limit=300)


@pytest.mark.parametrize("kind", ["uniform", "pair", "human", "drawn"])
def test_exactly_the_share_asked_for_is_wrong(digits, kind: str) -> None:
    truth = np.asarray(digits.labels)
    given = np.asarray(noisy(digits, kind, 0.2).labels)
    assert (given != truth).sum() == 60
    assert set(given.tolist()) <= set(range(10))
    if kind == "pair":
        assert (((given - truth) % 10)[given != truth] == 1).all()
    assert np.array_equal(noisy(digits, kind, 0.0).labels, truth)


def test_errors_like_those_of_people_are_the_same_for_every_seed_and_others_are_not(digits) -> None:
    x, truth = digits.read(np.arange(300)), np.asarray(digits.labels)
    said = np.log(np.full((300, 10), 0.1))
    same = {
        kind: np.array_equal(*(flipped(x, truth, kind, 0.2, seed, said) for seed in (0, 1)))
        for kind in ("human", "uniform", "drawn")
    }
    assert same == {"human": True, "uniform": False, "drawn": False}
    with pytest.raises(ValueError, match="kind must be one of"):
        flipped(x, truth, "odd", 0.2)


def test_errors_drawn_like_those_of_people_fall_where_the_annotator_doubts_and_on_what_it_sees(digits) -> None:
    truth = np.asarray(digits.labels)
    sure = np.full((300, 10), 1e-4)
    sure[np.arange(300), truth] = 1.0
    sure[:100, 7] = 0.9  # a hundred that look like a seven too
    drawn = [flipped(truth, truth, "drawn", 0.1, seed, np.log(sure)) for seed in range(10)]
    wrong = np.mean([given != truth for given in drawn], axis=0)
    doubtful = (np.arange(300) < 100) & (truth != 7)
    assert wrong[doubtful].mean() > 5 * wrong[~doubtful].mean()
    assert 0 < wrong[doubtful].mean() < 1  # by chance
    assert np.mean([(given == 7)[doubtful & (given != truth)].mean() for given in drawn]) > 0.8


def test_an_annotator_knows_the_truth_better_than_its_model(digits) -> None:
    said = annotator(digits)
    assert np.allclose(np.exp(said).sum(axis=1), 1, atol=0.05)
    assert (said.argmax(axis=1) == digits.labels).all()
    assert np.exp(said).max(axis=1).std() > 0.02  # and finds some examples harder than others


def test_measures_by_hand() -> None:
    wrong = np.array([True, False, True, False])
    assert judging.f1(wrong, np.array([True, True, False, False])) == 0.5
    assert judging.average_precision(wrong, np.array([4.0, 3.0, 2.0, 1.0])) == pytest.approx((1 + 2 / 3) / 2)
    table = judging.reliability(wrong, np.array([0.95, 0.05, 1.0, 0.72]))
    assert [row[0] for row in table] == [1, 0, 0, 0, 0, 0, 0, 1, 0, 2]
    assert table[9][1:] == [pytest.approx(1.95), 2]
    assert judging.within_tolerance(0.26, 0.2)
    assert not judging.within_tolerance(0.27, 0.2)
    assert judging.within_tolerance(0.035, 0.0)


def test_the_bounds_hold_nearly_all_cells() -> None:
    draw = np.random.default_rng(0)
    truth = draw.uniform(0.05, 0.3, 400)
    found = truth * draw.uniform(0.5, 2, 400)
    cells = [{"kind": "uniform", "share": t, "estimate": e} for t, e in zip(truth, found, strict=True)]
    below, above = bounds([*cells, {"kind": "human", "share": 0.2, "estimate": 0.01}])  # the rule has no part in it
    inside = [below * one["estimate"] <= one["share"] <= one["estimate"] + above for one in cells]
    assert 0.93 < np.mean(inside) < 0.97
    assert 0.5 < below < 0.6


def test_one_cell_is_observed_once_and_reported(digits, tmp_path) -> None:
    def cell(rate: float) -> dict:
        seen = observed(digits, "uniform", rate, 2, tmp_path / f"{rate}.safetensors")
        return {"data": "digits", "kind": "uniform", "rate": rate, "others": others(seen), **numbers(seen)}

    cells = [cell(0.1), cell(0.3)]
    assert [one["share"] for one in cells] == [pytest.approx(0.1), pytest.approx(0.3)]
    assert cells[0]["estimate"] < cells[1]["estimate"]
    assert cell(0.1) == cells[0]  # read, not observed again
    text = "\n".join(report(cells))
    assert "SLOPE" in text
    assert "nan" not in text


def test_marks_by_a_person_who_knows_bring_the_share_near_the_truth_also_where_nothing_is_wrong() -> None:
    draw = np.random.default_rng(0)
    wrong = draw.random(3000) < 0.2
    blind = np.where(wrong, 0.02, 0.01) * draw.uniform(0.5, 1.5, 3000)  # they are hardly seen
    share, low, high, found = judging.after_marks(np.arange(3000), blind, wrong, 0)
    assert low < 0.2 < high
    assert abs(share - 0.2) < 0.1
    assert found > 0
    share, low, high, found = judging.after_marks(np.arange(3000), blind, np.zeros(3000, dtype=bool), 0)
    assert share < 0.04
    assert found == 0
