"""Two runs of the same thing in two directories: every artefact is the same, byte for byte.

Durations are in the records of steps, in `costs.json` of a study and in `.cost.json` beside targets; the report, the
figure and the plan are about them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from winnow.artefacts.training_result import Marks, Result
from winnow.core.run import Run

ONE = wn.Local(workers=1)
SHORT = wn.Recipe(epochs=2, batch=32)
HOW: dict[str, Any] = {"model": "mlp", "recipe": SHORT, "limit": 120, "engine": ONE}
TIMED = {"lock", "todo.json", "costs.json", "report.html"}


def proved(place: Path) -> None:
    test = wn.open("digits", split="test", limit=60)
    wn.prune_with_proof("digits", 0.5, test=test, seeds=1, proof_seeds=1, veto=1, out=place / "run", **HOW)


def evaluated(place: Path) -> None:
    source = wn.open("digits", limit=120)
    how = {name: value for name, value in HOW.items() if name != "limit"}
    test = wn.open("digits", split="test", limit=60)
    wn.evaluate(source, {"half": wn.Subset(source.ids[:60])}, test=test, seeds=1, out=place / "run", **how)


def observed(place: Path) -> None:
    wn.observe("digits", seeds=2, want=("dynamics", "embeddings"), out=place / "run", **HOW)


def checked(place: Path) -> None:
    wn.check("digits", folds=2, out=place / "run", **HOW)


def trained(place: Path) -> None:
    wn.train("digits", observer=None, out=place / "run", **HOW)


def relabelled(place: Path) -> None:
    wn.relabel.targets("digits", "random", 4, limit=120, out=place / "targets.parquet")


def files_of(place: Path) -> dict[str, bytes]:
    found = {}
    for file in sorted(place.rglob("*")):
        parts = file.relative_to(place).parts
        if file.is_file() and "steps" not in parts and file.name not in TIMED and not file.name.endswith(".cost.json"):
            found["/".join(parts)] = file.read_bytes()
    return found


@pytest.mark.parametrize("call", [proved, evaluated, observed, checked, trained, relabelled])
def test_all_artefacts_are_the_same_bytes(call: Callable[[Path], None], tmp_path: Path) -> None:
    found = []
    for word in ("one", "two"):
        (tmp_path / word).mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(tmp_path / word)
        found.append(files_of(tmp_path / word))
    assert found[0]
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []


def test_durations_outlive_the_process(tmp_path: Path) -> None:
    """They are not in the file, and a run that is opened again knows them all the same."""
    made = Result(3, (Marks(0.5, 1.0, ()),), 1.25)
    with Run(tmp_path / "run", {}) as run:
        run.put("training", made, 2.0, file="training.json")
    assert b"1.25" not in (tmp_path / "run" / "training.json").read_bytes()
    with Run(tmp_path / "run", {}) as run:
        assert run.get("training", Result) == made
        assert run.seconds("training") == 2.0
    assert math.isnan(Result.load(tmp_path / "run" / "training.json").seconds)


def test_a_study_keeps_its_costs_beside_it(tmp_path: Path) -> None:
    from winnow.artefacts.study import Arm, Outcome

    arms = (Arm("full", "full", 100, 1.0), Arm("half", "subset", 50, 0.5, selection={"observe": 3.0}))
    outcomes = tuple(Outcome(arm.name, 0, "test", 0.9, 0.3, (), 40, 2.5) for arm in arms)
    study = wn.Study("accuracy", arms, outcomes, ("test",))
    study.save(tmp_path / "study")
    again = wn.Study.load(tmp_path / "study")
    assert again.seconds("half") == 2.5
    assert again.arm("half").selection == {"observe": 3.0}
    (tmp_path / "study" / "costs.json").unlink()  # a copy without them
    bare = wn.Study.load(tmp_path / "study")
    assert math.isnan(bare.seconds("half"))
    assert bare.arm("half").selection == {}
    assert bare.of("half")[0].value == 0.9
