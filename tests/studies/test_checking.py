"""The study of the label check: planted errors are what they are said to be, and the fit finds planted weights."""

from __future__ import annotations

import numpy as np
import pytest
from studies.checking import judging
from studies.checking.calibration import fitted, left_out, numbers, report
from studies.checking.noise import flipped, noisy
from studies.checking.observed import observed

import winnow as wn


@pytest.fixture(scope="module")
def digits() -> wn.Source:
    return wn.open("digits", limit=300)


@pytest.mark.parametrize("kind", ["uniform", "pair", "human", "soft"])
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
    same = {
        kind: np.array_equal(*(flipped(x, truth, kind, 0.2, seed) for seed in (0, 1)))
        for kind in ("human", "uniform", "soft")
    }
    assert same == {"human": True, "uniform": False, "soft": False}
    with pytest.raises(ValueError, match="kind must be one of"):
        flipped(x, truth, "odd", 0.2)


def test_errors_drawn_like_those_of_people_fall_where_the_simple_model_errs(digits) -> None:
    x, truth = digits.read(np.arange(300)), np.asarray(digits.labels)
    surest = flipped(x, truth, "human", 0.2) != truth
    drawn = np.mean([flipped(x, truth, "soft", 0.2, seed) != truth for seed in range(20)], axis=0)
    assert drawn[surest].mean() > 2 * drawn[~surest].mean()
    assert 0 < drawn[surest].mean() < 1  # by chance


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


def test_the_fit_finds_planted_weights_and_leaves_a_data_set_out() -> None:
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(400, 3)) * 5
    logits = -1 + rows @ [0.1, -0.2, 0.05]
    shares = 1.02 / (1 + np.exp(-logits)) - 0.01
    assert np.allclose(fitted(rows, shares, np.ones(400)), [-1, 0.1, -0.2, 0.05], atol=0.01)
    names = np.repeat(["a", "b"], 200)
    odd = shares.copy()
    odd[names == "b"] = 0.9
    found = left_out(rows, odd, np.ones(400), names)
    assert np.allclose(found[names == "b"], shares[names == "b"].clip(0.02, 0.9), atol=0.01)  # b has no part in it


def test_one_cell_is_observed_once_and_reported(digits, tmp_path) -> None:
    def cell(rate: float) -> dict:
        seen = observed(digits, "uniform", rate, 2, tmp_path / f"{rate}.safetensors")
        return {"data": "digits", "kind": "uniform", "rate": rate, **numbers(seen)}

    cells = [cell(0.1), cell(0.3)]
    assert [one["share"] for one in cells] == [pytest.approx(0.1), pytest.approx(0.3)]
    assert len(cells[0]["numbers"]) == 4
    assert cell(0.1) == cells[0]  # read, not observed again
    text = "\n".join(report(cells))
    assert "WEIGHTS" in text
    assert "nan" not in text
