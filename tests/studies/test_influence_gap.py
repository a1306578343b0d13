import math

import numpy as np
import pytest
from studies.influence import curve, gap, networks
from studies.influence.curve import CHANCE, LOWEST, OURS
from studies.influence.gap import correlation, table, verdict, within_bound
from studies.parts import Asked
from studies.shelf import Shelf


def asked(out, seeds=1):
    return Asked(Shelf(out / "gap", "influence gap"), out / "gap", ("mnist",), seeds, quick=True)


def test_quick_run_goes_on_and_takes_the_heads_of_the_curve(tmp_path, mnist, monkeypatch):
    part = gap.run(asked(tmp_path))
    assert len(part.table) == 2 + 3 * len(curve.QUICK.shares) + 1 + 2 + len(networks.QUICK.shares)
    assert part.figure is not None
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*/*.json")}
    assert {file.parent.relative_to(tmp_path).as_posix() for file in kept} == {"curve/removals", "gap/networks"}
    monkeypatch.setattr(curve, "removals", None)  # nothing may be made again
    monkeypatch.setattr(networks, "gaps", None)
    assert gap.run(asked(tmp_path)) == part
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*/*.json")} == kept


def made_up(ours, chance):
    """Three repeats; a bound of .01 times the change, and gaps that are these shares of it."""

    def cell(change, share):
        told = {
            "linear": change,
            "corrected": change,
            "actual": change,
            "slope": 0.01,
            "first": 0.0,
            "second": 0.01 * change,
        }
        return told | {"gap": -0.01 * change * share}

    return [
        {
            OURS: {"0.1": [cell(0.05, ours)], "0.9": [cell(0.06, ours)]},
            CHANCE: {"0.1": [cell(1.0, chance)] * 2, "0.9": [cell(2.0, chance), cell(3.0, 0.1)]},
            LOWEST: {"0.1": [cell(1.5, 0.2)], "0.9": [cell(4.0, 0.2)]},
        }
        for _ in range(3)
    ]


def test_the_bound_is_counted_by_removal():
    found = made_up(0.1, 1.5)
    assert within_bound(found, OURS, "0.1") == (3, 3)
    assert within_bound(found, CHANCE, "0.1") == (0, 6)
    assert within_bound(found, CHANCE, "0.9") == (3, 6)
    assert "| 3 of 6 |" in table(found)[6]
    assert -1 <= correlation(found) <= 1


def test_the_verdict_follows_the_numbers():
    lines = verdict(made_up(0.1, 1.5))
    assert "6 of 6 removals; the median gap is 0.10 (0.10 to 0.10) of its bound, so agreement is loose" in lines[1]
    assert "3 of 12 removals, not in all at 10%, 90%" in lines[2]
    assert "agreement fails" in lines[2]
    assert "at 10% 0.050 and 0.003 (0.003 to 0.003), an order of magnitude in the gap holds" in lines[5]
    assert "0.250 (0.250 to 0.250), an order of magnitude in the gap does not hold" in verdict(made_up(1.0, 0.2))[5]


def test_an_order_of_magnitude_is_decided_by_its_interval():
    found = made_up(0.1, 1.5)
    for repeat, factor in zip(found, (0.0, 1.0, 80.0), strict=True):
        repeat[OURS]["0.1"][0]["gap"] *= factor
    assert "an order of magnitude in the gap is not decided by these draws" in verdict(found)[5]


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.1, 2.0, "fails"),
        (0.1, 0.4, "is loose by a factor of two or more"),
        (0.6, 0.9, "is within a factor of two"),
        (0.4, 0.9, "is not decided by these draws"),
        (0.9, 1.2, "is not decided by these draws"),
        (math.nan, math.nan, "is not decided by these draws"),
    ],
)
def test_agreement_is_decided_by_its_interval(low, high, word):
    assert gap.agreement(low, high).startswith(word)


@pytest.mark.parametrize(("ours", "word"), [(0.02, "smaller than"), (0.1, "not told from"), (0.3, "larger than")])
def test_networks_are_told_apart_by_interval(ours, word):
    rng = np.random.default_rng(0)
    found = [
        {
            networks.OURS: {"0.5": ours + rng.normal(0, 0.01)},
            networks.CHANCE: {"0.5": 0.1 + rng.normal(0, 0.01)},
            networks.AGAIN: rng.normal(0, 0.02),
            "full": 0.4,
            "head": {"0.5": 0.05},
        }
        for _ in range(5)
    ]
    (line,) = networks.verdict(found)
    assert f"{word} random's at 50%" in line
    assert len(networks.table(found)) == 3
