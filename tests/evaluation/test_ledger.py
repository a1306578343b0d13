"""The ledger: what a subset cost to find, what it saves, and when it pays, worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from winnow.artefacts import Outcome, Study, Subset
from winnow.artefacts.ledger import COUNTED, costs_of, ledger
from winnow.artefacts.study import Arm
from winnow.core.files import write_json


def study(costs: dict[str, float], seconds: dict[str, float], full: bool = True) -> Study:
    arms = [Arm("mine", "subset", 50, 0.5, "random@0.5", None, costs), Arm("random@0.5", "random", 50, 0.5)]
    arms += [Arm("full", "full", 100, 1.0)] if full else []
    done = [Outcome(a.name, s, "test", 0.9, 0.1, (), 10, seconds[a.name] + s - 0.5) for a in arms for s in (0, 1)]
    return Study("r2", tuple(arms), tuple(done), ("test",))


SECONDS = {"mine": 4.0, "random@0.5": 4.0, "full": 10.0}


def test_selection_is_part_of_the_bill() -> None:
    (row,) = ledger(study({"observe": 20.0, "score": 1.0, "select": 2.0}, SECONDS))
    assert (row["selection_s"], row["train_s"], row["full_train_s"]) == (23.0, 4.0, 10.0)
    assert row["saved_per_training_s"] == 6.0
    assert row["net_after_one_s"] == -17.0
    assert row["pays_after"] == 4  # 3 x 6 = 18 < 23 <= 24
    assert [row[f"{stage}_s"] for stage in COUNTED] == [0.0, 20.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("costs", "seconds", "pays"),
    [
        ({"observe": 6.0}, SECONDS, 1),
        ({"observe": 6.01}, SECONDS, 2),
        ({"observe": 0.0}, SECONDS, 1),
        ({"observe": 0.5}, SECONDS, 1),
        ({"observe": 5.0}, {**SECONDS, "mine": 9.5}, 10),
        ({"observe": 5.0}, {**SECONDS, "mine": 10.0}, None),
        ({"observe": 5.0}, {**SECONDS, "mine": 12.0}, None),
    ],
)
def test_when_it_pays(costs: dict[str, float], seconds: dict[str, float], pays: int | None) -> None:
    assert ledger(study(costs, seconds))[0]["pays_after"] == pays


def test_what_is_not_known_is_not_zero() -> None:
    (row,) = ledger(study({}, SECONDS))
    assert math.isnan(row["selection_s"])
    assert math.isnan(row["net_after_one_s"])
    assert row["pays_after"] is None
    (row,) = ledger(study({"observe": 5.0}, SECONDS, full=False))
    assert math.isnan(row["saved_per_training_s"])
    assert row["pays_after"] is None


def test_costs_come_from_the_records_of_the_run(tmp_path: Path) -> None:
    subset = Subset(np.arange(3), certificate={"score": "el2n"})
    assert costs_of(tmp_path / "subset.parquet", subset) == {}
    write_json(tmp_path / "run.json", {"format": 2, "settings": {"command": "prune"}})
    steps = {"observe": 100.0, "observe/seed-0": 3.0, "observe/seed-1": 4.0, "score/el2n": 1.0, "score/aum": 9.0,
             "select/subset": 0.5, "select/other": 9.0}  # fmt: skip
    for name, seconds in steps.items():
        write_json(tmp_path / "steps" / f"{name}.json", {"key": "", "file": "", "seconds": seconds})
    found = costs_of(tmp_path / "subset.parquet", subset)
    assert found == {"plan": 0, "observe": 7.0, "score": 1.0, "select": 0.5, "veto": 0, "search": 0}
    write_json(tmp_path / "run.json", {"format": 2, "settings": {"command": "observe"}})  # select scores by itself
    found = costs_of(tmp_path / "subset.parquet", subset)
    assert found == {"plan": 0, "observe": 7.0, "score": 0.0, "select": 0.5, "veto": 0, "search": 0}


def test_making_the_targets_is_part_of_the_bill() -> None:
    (row,) = ledger(study({"select": 1.0, "targets": 4.0, "pretrain": 30.0}, SECONDS))
    assert (row["targets_s"], row["pretrain_s"], row["selection_s"]) == (4.0, 30.0, 35.0)
    assert row["pays_after"] == 6
