import numpy as np
import pytest
from studies.influence import curve
from studies.influence.curve import CHANCE, LOWEST, OURS, between, judged, table, verdict
from studies.influence.heads import bent, loss_of, trained
from studies.parts import Asked
from studies.shelf import Shelf

from winnow.artefacts.intervals import Interval


def asked(out, seeds=1):
    return Asked(Shelf(out, "influence curve"), out, ("mnist",), seeds, quick=True)


def test_quick_run_goes_on(tmp_path, mnist, monkeypatch):
    part = curve.run(asked(tmp_path))
    shares = len(curve.QUICK.shares)
    assert len(part.table) == 2 + 3 * shares + 1 + 2 + shares
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("removals/*.json")}
    assert len(kept) == curve.REPEATS
    monkeypatch.setattr(curve, "removals", None)  # nothing may be made again
    assert curve.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("removals/*.json")} == kept


def test_the_terms_of_the_test_loss_are_its_derivatives(mnist):
    of = trained("mnist", 100, 4, "curve", 0)
    change = np.random.default_rng(0).normal(size=of.head.theta.shape)
    slope, second = bent(of, change)

    def loss(step):
        return loss_of(of.head.theta + step * change, of.others, of.truth)

    h = 1e-3
    assert (slope * change).sum() == pytest.approx((loss(h) - loss(-h)) / (2 * h), rel=1e-4)
    assert second == pytest.approx((loss(h) + loss(-h) - 2 * loss(0)) / (2 * h**2), rel=1e-4)


def made_up(change, gap, spread=0.05):
    """Ten repeats in which influence has these shares of random's change and gap; of either sign if spread is 1."""
    rng = np.random.default_rng(0)

    def cell(size, of_gap):
        near = rng.uniform(0.95, 1.05)
        signed = of_gap * (rng.uniform(0.9, 1.1) if spread < 1 else rng.choice([-1, 1]))
        told = dict.fromkeys(("linear", "newton", "corrected", "actual", "printed"), size * near)
        return told | {"curvature": 0.9, "gap": signed, "first": signed / 2, "second": signed / 2, "slope": 0.01}

    return [
        {
            OURS: {share: [cell(change, gap)] for share in ("0.1", "0.5")},
            CHANCE: {share: [cell(1.0, 1.0), cell(1.0, 1.0)] for share in ("0.1", "0.5")},
            LOWEST: {share: [cell(2.0, 3.0)] for share in ("0.1", "0.5")},
        }
        for _ in range(10)
    ]


def test_what_is_asked_holds_where_it_does():
    lines = verdict(made_up(0.04, 0.02))
    assert "at most 1/15 holds" in lines[1]
    assert "within 20 % holds" in lines[2]
    assert all(line.count("it holds") == 2 for line in lines[3:5])
    assert "| 50% | 0.04" in table(made_up(0.04, 0.02))[-1]


def test_what_does_not_hold_is_said_not_to():
    lines = verdict(made_up(0.2, 0.5))
    assert "at most 1/15 does not hold" in lines[1]
    assert all(line.count("it does not hold") == 2 for line in lines[3:5])


def test_a_gap_of_either_sign_is_judged_by_its_size():
    one = judged(made_up(0.04, 0.5, spread=1), "0.5")
    assert one["size"].low > 0.1
    assert between(one["mean"], -0.1, 0.1) == "is not decided by these draws"


def test_a_large_gap_below_zero_is_no_small_one():
    assert between(Interval(-0.5, -0.6, -0.4, 10), -0.1, 0.1) == "does not hold"
    assert between(Interval(-0.05, -0.06, -0.04, 10), -0.1, 0.1) == "holds"
    assert between(Interval(0.05, float("nan"), float("nan"), 1), -0.1, 0.1) == "is not decided by these draws"


def test_what_did_not_settle_is_said():
    found = made_up(0.04, 0.02)
    for repeat in found[:2]:
        repeat[LOWEST]["0.5"][0]["corrected"] = None
    lines = [line for line in table(found) if line.startswith("| 50% | lowest norm")]
    assert "not settled in 2 of 10 draws" in lines[0]
