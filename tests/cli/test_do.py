"""winnow do: a command writes its steps down, other processes do them, and the command picks up what they did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said, Started
from winnow.core.run import Run

Winnow = Callable[..., Said]
OBSERVE = ("observe", "digits", "--limit", "120", "--model", "mlp", "--epochs", "2", "--seeds", "4")


def files(run: Path) -> dict[str, bytes]:
    return {str(file.relative_to(run)): file.read_bytes() for file in run.rglob("*.safetensors")}


def test_two_processes_finish_a_run_that_the_command_picks_up(
    winnow: Winnow, processes: Callable[..., Started], tmp_path: Path
) -> None:
    run, alone = tmp_path / "run", tmp_path / "alone"
    said = winnow(*OBSERVE, "--out", run, "--engine", "later")
    assert said.code == 3
    assert "4 steps are open" in said.err
    listed = winnow("do", run, "--list", "--json").json
    assert [step["done"] for step in listed["steps"]] == [False] * 4
    assert listed["steps"][1]["name"] == "observe/seed-1"
    assert listed["steps"][1]["function"].endswith(":_observe_seed")
    both = [processes("do", run, "--index", index, "--count", 2) for index in (0, 1)]  # side by side, one run
    ended = [one.ended() for one in both]
    assert [one.code for one in ended] == [0, 0], ended
    assert ended[0].out.split() == ["did", "observe/seed-0", "did", "observe/seed-2"]
    assert ended[1].out.split() == ["did", "observe/seed-1", "did", "observe/seed-3"]
    kept = {file: file.stat().st_mtime_ns for file in (run / "signals").iterdir()}
    assert len(kept) == 4
    assert winnow(*OBSERVE, "--out", run, "--engine", "later").code == 0  # nothing is left to train
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert winnow(*OBSERVE, "--out", alone, "--workers", 1).code == 0
    assert files(run) == files(alone)
    assert winnow("do", run, "observe/seed-1").out == "nothing to do: these steps are done\n"


def test_prune_goes_stage_by_stage(winnow: Winnow, tmp_path: Path) -> None:
    """Observing, then the trainings of the proof: each time the same command, until it says 0."""
    run = tmp_path / "run"
    asked = (
        "prune",
        "digits",
        "--limit",
        "300",
        "--keep",
        "0.5",
        "--method",
        "el2n",
        "--model",
        "mlp",
        "--epochs",
        "2",
    )
    asked = (*asked, "--proof-seeds", "2", "--out", str(run), "--engine", "later")
    stages = []
    while (said := winnow(*asked)).code == 3:
        steps = [step["name"] for step in winnow("do", run, "--list", "--json").json["steps"]]
        stages.append(steps[0].split("/")[0])
        assert winnow("do", run, "--index", 0).code == 0
        assert len(stages) < 9
    assert said.code == 0, said.err
    assert stages[0] == "observe"
    assert len(set(stages)) > 1
    assert (run / "subset.parquet").exists()
    assert (run / "report.html").exists()


def test_what_cannot_be_done_is_said(winnow: Winnow, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert "has no open steps" in winnow("do", tmp_path, "--list").err
    winnow(*OBSERVE, "--out", run, "--engine", "later")
    assert "unknown step 'observe/seed-9' (nearest" in winnow("do", run, "observe/seed-9").err
    assert "takes a STEP, or --index" in winnow("do", run).err
    assert "--index must be a whole number from 0" in winnow("do", run, "--index", 2, "--count", 2).err
    with Run.existing(run):  # a command is at work
        assert "is in use by" in winnow("do", run, "observe/seed-0").err
    todo = json.loads((run / "todo.json").read_text())
    (run / "todo.json").write_text(json.dumps({**todo, "folder": str(tmp_path / "gone")}))
    assert "which is not there" in winnow("do", run, "observe/seed-0").err
    (run / "todo.json").write_text(json.dumps({**todo, "command": None}))
    assert "was started from Python" in winnow("do", run, "observe/seed-0").err
    (run / "todo.json").write_text("[]")
    assert "does not list the steps" in winnow("do", run, "--list").err


def test_a_run_at_a_url_needs_no_shared_folder(winnow: Winnow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process fetches the run, does its step in a folder of its own and copies it back."""
    pytest.importorskip("fsspec")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
    url = f"file://{tmp_path / 'store' / 'run'}"
    assert winnow(*OBSERVE, "--out", url, "--engine", "later").code == 3
    for machine in ("two", "three"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine))
        assert winnow("do", url, "--index", int(machine == "three"), "--count", 2).code == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "four"))
    assert winnow(*OBSERVE, "--out", url, "--engine", "later").code == 0
    assert winnow(*OBSERVE, "--out", tmp_path / "alone", "--workers", 1).code == 0
    assert files(tmp_path / "store" / "run") == files(tmp_path / "alone")
    shutil.rmtree(tmp_path / "one")
    assert winnow("score", "el2n", url).code == 0
    assert (tmp_path / "store" / "run" / "scores" / "el2n.parquet").exists()
