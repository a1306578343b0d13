"""Nothing is lost: a winnow that is killed at any moment goes on and ends with the same bytes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Said, Started, installed
from winnow.artefacts import Study, Subset
from winnow.core.files import PART

Start = Callable[..., Started]
# Enough per class for a candidate that is scored, so that a run has every stage: signals, scores, veto, subset, study.
REQUEST = (
    "digits --limit 400 --keep 0.8 --model mlp --epochs 8 --batch 64 --seeds 2 --veto 1 --proof-seeds 2 --workers 1"
)


def prune(out: Path) -> list[object]:
    return ["prune", *REQUEST.split(), "--out", out]


def values(run: Path) -> list[tuple[object, ...]]:
    """Everything a study measured except seconds, which no two runs share."""
    rows = pq.read_table(run / "study" / "outcomes.parquet").to_pylist()
    return [tuple(repr(value) for key, value in sorted(row.items()) if "seconds" not in key) for row in rows]


def left_overs(run: Path) -> list[Path]:
    return list(run.rglob(f"*{PART}"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """A run that nobody disturbed, by the installed command itself."""
    run = tmp_path_factory.mktemp("whole") / "run"
    return run, installed(*prune(run))


def test_a_run_succeeds_and_says_only_what_it_does_off_a_terminal(whole: tuple[Path, Said]) -> None:
    run, said = whole
    assert said.code == 0
    lines = said.err.splitlines()
    assert all(line.startswith("winnow: ") and line.isprintable() and " note: " not in line for line in lines)
    about = Subset.load(run / "subset.parquet").certificate
    assert about["veto"]["candidate"] == "tilted"
    assert f"kept 320 of 400 examples by {'tilted' if about['veto']['holds'] else 'auto'}@0.8" in said.out
    assert f"subset  {run / 'subset.parquet'}" in said.out
    assert said.out.rstrip().endswith(f"report  {run / 'report.html'}")


def resumed(processes: Start, run: Path, whole: Path) -> None:
    """Give the same command again and compare with the undisturbed run."""
    said = processes(*prune(run)).ended()
    assert (said.code, said.err) == (0, "")
    assert (run / "subset.parquet").read_bytes() == (whole / "subset.parquet").read_bytes()
    for scores in (whole / "scores").iterdir():
        assert (run / "scores" / scores.name).read_bytes() == scores.read_bytes()
    for signals in (whole / "signals").iterdir():
        assert (run / "signals" / signals.name).read_bytes() == signals.read_bytes()
    assert values(run) == values(whole)
    assert len(values(run)) == 6 * 2
    assert not left_overs(run)
    study, undisturbed = Study.load(run / "study"), Study.load(whole / "study")
    assert study.provenance == undisturbed.provenance
    assert (run / "report.html").exists()


def test_killed_while_observing(processes: Start, whole: tuple[Path, Said], tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = processes(*prune(run))
    process.until(lambda: (run / "signals" / "seed-0.safetensors").exists())
    assert process.kill().code == -signal.SIGKILL
    assert not (run / "subset.parquet").exists()
    kept = (run / "steps" / "observe" / "seed-0.json").exists() and (run / "signals" / "seed-0.safetensors").stat()
    resumed(processes, run, whole[0])
    if kept:  # a recorded seed is not trained again
        assert (run / "signals" / "seed-0.safetensors").stat().st_mtime_ns == kept.st_mtime_ns


def test_killed_while_the_candidate_is_tried(processes: Start, whole: tuple[Path, Said], tmp_path: Path) -> None:
    run = tmp_path / "run"
    tried = run / "veto" / "candidate" / "seed-0.json"
    process = processes(*prune(run))
    process.until(lambda: (run / "steps" / tried.relative_to(run)).exists())
    assert process.kill().code == -signal.SIGKILL
    before = tried.stat().st_mtime_ns
    resumed(processes, run, whole[0])
    assert tried.stat().st_mtime_ns == before


def test_killed_during_the_proof(processes: Start, whole: tuple[Path, Said], tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = processes(*prune(run))
    process.until(lambda: len(list(run.glob("steps/study/trainings/*/*.json"))) >= 2)
    assert process.kill().code == -signal.SIGKILL
    assert not (run / "study" / "study.json").exists()
    before = {path: path.stat().st_mtime_ns for path in run.glob("study/trainings/*/*.json")}
    recorded = [path for path in before if (run / "steps" / path.relative_to(run)).exists()]
    subset = (run / "subset.parquet").stat().st_mtime_ns
    resumed(processes, run, whole[0])
    assert len(recorded) >= 2
    assert all(path.stat().st_mtime_ns == before[path] for path in recorded)
    assert (run / "subset.parquet").stat().st_mtime_ns == subset


def test_killed_again_and_again_at_any_moment(processes: Start, whole: tuple[Path, Said], tmp_path: Path) -> None:
    run = tmp_path / "run"
    rng = np.random.default_rng(0)
    for _ in range(4):
        process = processes(*prune(run))
        time.sleep(float(rng.uniform(0.05, 0.6)))
        if process.kill().code == 0:
            break
    resumed(processes, run, whole[0])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_second_winnow_is_refused_and_a_stopped_one_leaves_a_run_that_goes_on(
    how: signal.Signals, processes: Start, whole: tuple[Path, Said], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    first = processes(*prune(run))
    first.until(lambda: (run / "run.json").exists())
    second = processes(*prune(run)).ended()
    stopped = first.kill(how)
    assert second.code == 2
    assert second.out == ""
    assert second.err == (
        f"winnow: {run} is in use by process {first.pid}; wait for it to finish or choose another directory.\n"
    )
    assert stopped.code == 130
    assert stopped.out == ""
    assert stopped.err == "winnow: stopped; finished steps are kept; run the same command again to resume.\n"
    assert not (run / "study" / "study.json").exists()
    resumed(processes, run, whole[0])


def test_two_runs_of_one_seed_differ_in_nothing_but_seconds(
    processes: Start, whole: tuple[Path, Said], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    resumed(processes, run, whole[0])
    assert (run / "gallery.json").read_bytes() == (whole[0] / "gallery.json").read_bytes()
    assert names(run) == names(whole[0])


def names(run: Path) -> set[str]:
    return {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}


def test_another_request_in_the_same_directory_is_refused(processes: Start, whole: tuple[Path, Said]) -> None:
    run, _ = whole
    said = processes(*prune(run), "--seed", 1).ended()
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"winnow: {run} holds a run with other settings (seed was 0, now 1); give another directory (--out) or "
        "the same command.\n"
    )
