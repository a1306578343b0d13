"""winnow runs: what is there, whether it is whole, smaller, gone; and runs of the first format."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from winnow.core.run import Run

Winnow = Callable[..., Said]
OBSERVE = ("observe", "digits", "--limit", "80", "--model", "mlp", "--epochs", "1", "--seeds", "2", "--workers", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from winnow.cli import _run

    run = tmp_path_factory.mktemp("made") / "run"
    assert _run([*OBSERVE, "--out", str(run)]) == 0
    return run


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "runs" / "one"))


def test_list(winnow: Winnow, run: Path) -> None:
    (run.parent / "other").mkdir()
    said = winnow("runs", "list", run.parent)
    assert said.code == 0
    assert str(run) in said.out
    assert "observe" in said.out
    (one,) = winnow("runs", "list", run.parent, "--json").json["runs"]
    assert (one["path"], one["format"], one["command"], one["steps"]) == (str(run), 2, "observe", 3)
    assert one["bytes"] == sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    assert winnow("runs", "list", run.parent / "other").out == f"no runs below {run.parent / 'other'}\n"
    assert "there is no folder" in winnow("runs", "list", run.parent / "gone").err


@pytest.mark.filterwarnings("ignore:.*made again")
def test_verify_names_every_damage(winnow: Winnow, run: Path) -> None:
    assert winnow("runs", "verify", run).out == f"{run}: whole\n"
    file = run / "signals" / "seed-0.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    (run / "signals" / "seed-1.safetensors").unlink()
    (run / "steps" / "observe.json").write_text("{}")
    said = winnow("runs", "verify", run)
    assert said.code == 1
    assert "observe/seed-0: signals/seed-0.safetensors has changed since it was written" in said.out
    assert "observe/seed-1: signals/seed-1.safetensors is missing" in said.out
    assert "observe: its record is not as winnow wrote it" in said.out
    assert len(winnow("runs", "verify", run, "--json").json[str(run)]) == 3
    assert winnow(*OBSERVE, "--out", run).code == 0  # the same command mends it
    assert winnow("runs", "verify", run).code == 0


def test_compact_leaves_the_result(winnow: Winnow, run: Path) -> None:
    kept = (run / "signals.safetensors").read_bytes()
    size = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    (run / ".x.winnow-part").write_text("half")
    freed = winnow("runs", "compact", run, "--json").json["freed"][str(run)]
    assert freed > size / 3
    assert not (run / "signals").exists()
    before = (run / "signals.safetensors").stat().st_mtime_ns
    assert winnow(*OBSERVE, "--out", run).code == 0
    assert (run / "signals.safetensors").stat().st_mtime_ns == before  # nothing was trained again
    assert (run / "signals.safetensors").read_bytes() == kept


def test_a_damaged_joint_file_keeps_its_parts(winnow: Winnow, run: Path) -> None:
    (run / "signals.safetensors").write_bytes(b"x")
    assert winnow("runs", "compact", run).code == 0
    assert len(list((run / "signals").iterdir())) == 2


def test_delete(winnow: Winnow, run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    said = winnow("runs", "delete", run, tmp_path / "mine", "--yes")
    assert said.code == 2
    assert "is not a winnow run" in said.err
    assert run.exists()
    with Run.existing(run):
        assert "is in use by" in winnow("runs", "delete", run, "--yes").err
    assert winnow("runs", "delete", run, "--yes").code == 0
    assert not run.exists()


def test_a_run_of_the_first_format_is_refused_with_its_command(winnow: Winnow, run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "format": 1}))
    said = winnow(*OBSERVE, "--out", run)
    assert said.code == 2
    assert "was written in run format 1; this winnow reads format 2; make it again with: winnow observe" in said.err
    command = shlex.split(said.err.split("with: ")[1])
    assert command[1:] == [*OBSERVE[:-2], "--out", f"{run}-again"]
    assert winnow(*command[1:]).code == 0
    assert command[0] in winnow("runs", "list", run.parent).out
    assert "run format 1" in winnow("runs", "verify", run).err
    assert winnow("runs", "delete", run, "--yes").code == 0


def test_the_command_is_put_together_where_it_was_not_kept(winnow: Winnow, run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    del about["called"]
    (run / "run.json").write_text(json.dumps({**about, "format": 1}))
    assert winnow("score", "el2n", f"{run}-x").code == 2
    said = winnow("runs", "list", run.parent).out
    assert "winnow observe DATA" in said
    assert "--model mlp" in said
    assert "--epochs 1" in said


@pytest.mark.filterwarnings("ignore:.*made again")
def test_a_flipped_bit_is_never_read(winnow: Winnow, run: Path) -> None:
    """A command that only reads refuses; one that observes more does not build on it."""
    file = run / "signals.safetensors"
    content = bytearray(file.read_bytes())
    content[-100] ^= 64
    file.write_bytes(content)
    said = winnow("score", "el2n", run)
    assert said.code == 2
    assert f"{file} is not as it was written; repeat the command of {run}" in said.err
    assert winnow(*OBSERVE, "--want", "logits", "--out", run).code == 0
    assert winnow("runs", "verify", run).code == 0
    assert winnow("score", "el2n", run).code == 0
    subset = run / "rank.parquet"
    assert winnow("select", "rank", run, "--keep", "0.5", "--score", "el2n", "--out", subset).code == 0
    subset.write_bytes(subset.read_bytes()[:-1])
    assert "is not as it was written" in winnow("export", subset, "--out", run / "x.csv").err
