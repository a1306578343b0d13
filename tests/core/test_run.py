"""The run directory: whole files, recorded steps, one process at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import InputError, NotFoundError, RunInUseError, StoreError
from winnow.core.files import atomic, fingerprint, read_json, write_json
from winnow.core.run import Run
from winnow.core.unfinished import UNFINISHED


@dataclass(frozen=True)
class Note:
    """The smallest artefact there is."""

    text: str

    def save(self, path: str | Path) -> Path:
        write_json(path, self.text)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Note:
        return cls(read_json(path))


def making(text: str | None) -> Callable[[], Note]:
    """Steps of one code; None must not be made."""

    def make() -> Note:
        if text is None:
            raise AssertionError("a finished step was made again")
        return Note(text)

    return make


never = making(None)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"

    def half_written() -> None:
        with atomic(target) as part:
            part.write_text("half")
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        half_written()
    assert not target.exists()
    assert list(target.parent.iterdir()) == []
    with atomic(target) as part:
        part.write_text("whole")
    assert target.read_text() == "whole"
    assert [item.name for item in target.parent.iterdir()] == ["file.txt"]


def test_a_file_follows_the_umask(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", 1)
    (tmp_path / "b.json").write_text("1")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "b.json").stat().st_mode


def test_a_finished_step_is_loaded_not_made(tmp_path: Path) -> None:
    for make in (making("made"), never):
        with Run(tmp_path / "run", {"keep": 0.5}) as run:
            assert run.step("select", Note, make).text == "made"
            assert run.seconds("select") >= 0


def test_a_step_under_another_key_is_made_again(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.step("select", Note, making("first"), key={"size": 1})
        assert run.step("select", Note, never, key={"size": 1}).text == "first"
        assert run.step("select", Note, making("second"), key={"size": 2}).text == "second"


def test_a_step_of_other_code_is_made_again(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.step("select", Note, making("first"))
        assert run.step("select", Note, lambda: Note("second")).text == "second"


def test_an_artefact_without_a_record_does_not_count(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.step("select", Note, making("first"))
        (tmp_path / "steps" / "select.json").unlink()  # killed after the file, before the record
        assert run.step("select", Note, making("again")).text == "again"


@dataclass(frozen=True)
class Killed(Note):
    """An artefact whose process is killed as soon as the file is written."""

    def save(self, path: str | Path) -> Path:
        super().save(path)
        raise KeyboardInterrupt


def test_an_old_record_never_vouches_for_a_newer_artefact(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.put("select", Note("old"), 0.0, key="old", file="note.json")
        with pytest.raises(KeyboardInterrupt):
            run.put("select", Killed("new"), 0.0, key="new", file="note.json")
    with Run(tmp_path, {}) as run:  # the file is the new one: it must count for neither
        assert run.get("select", Note, key="old") is None
        assert run.get("select", Note, key="new") is None
        assert run.step("select", Note, making("again"), key="old", file="note.json").text == "again"


def test_left_over_parts_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    with Run(tmp_path, {}):
        pass
    part = tmp_path / "scores" / ".el2n.parquet.x1.winnow-part"
    part.parent.mkdir()
    part.write_text("half")
    with Run(tmp_path, {}):
        assert not part.exists()


def test_a_damaged_description_of_a_run_is_written_again(tmp_path: Path) -> None:
    """Nothing depends on what was called but the command that is shown for making it again."""
    about = tmp_path / "run" / "run.json"
    with Run(tmp_path / "run", {"keep": 0.5}):
        pass
    written = about.read_bytes()
    about.write_text(json.dumps({**json.loads(written), "called": ["prune", "other"]}))
    noted = pytest.warns(UserWarning, match=r"run.json is not as winnow wrote it; it is written again")
    with noted, Run(tmp_path / "run", {"keep": 0.5}):
        pass
    assert about.read_bytes() == written
    before = {
        name: value for name, value in json.loads(written).items() if name != "check"
    }  # as older versions wrote it
    about.write_text(json.dumps(before))
    with Run(tmp_path / "run", {"keep": 0.5}):
        pass
    assert about.read_bytes() == written


def test_what_was_kept_of_a_finished_step_is_removed_after_a_kill_too(tmp_path: Path) -> None:
    with Run(tmp_path / "run", {}) as run:
        run.step("deep/one", Note, making("made"))
    kept = [tmp_path / "run" / UNFINISHED / "deep" / name / "0.safetensors" for name in ("one", "two")]
    for file in kept:  # a kill between the record and the removal leaves the first; the second is under way
        file.parent.mkdir(parents=True)
        file.write_bytes(b"half done")
    with Run(tmp_path / "run", {}) as run:
        run.step("deep/one", Note, making("made"))
    assert [file.exists() for file in kept] == [False, True]


def test_seconds_are_those_of_the_first_making(tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.put("observe/seed-0", Note("x"), 12.5)
        run.put("observe/seed-1", Note("y"), 7.5)
    with Run(tmp_path, {}) as run:
        assert run.seconds("observe/") == 0
        run.get("observe/seed-0", Note)
        run.get("observe/seed-1", Note)
        assert run.seconds("observe/") == 20.0


def test_seconds_without_an_artefact_are_counted_too() -> None:
    run = Run(None, {})
    run.spent("select/a", 1.5)
    run.spent("select/a", 2.0)
    run.put("observe", Note("x"), 4.0)
    assert (run.seconds("select/"), run.seconds("observe"), run.seconds()) == (3.5, 4.0, 7.5)


def test_a_run_opened_for_a_block_may_grow_unless_told_otherwise(tmp_path: Path) -> None:
    with Run.opened(tmp_path, {"seeds": 3}) as run:
        run.step("a", Note, making("kept"))
        with Run.opened(run, {"seeds": 9}) as same:  # an open run is used as it is
            assert same is run
    with Run.opened(tmp_path, {"seeds": 5}) as run:
        assert run.step("a", Note, never).text == "kept"
    with pytest.raises(StoreError, match="seeds was 5, now 7"), Run.opened(tmp_path, {"seeds": 7}, extend=False):
        pass
    with Run.opened(None, {}) as run:
        assert run.path is None


def test_without_a_directory_nothing_is_kept() -> None:
    with Run(None, {}) as run:
        assert run.step("select", Note, making("a")).text == "a"
        assert run.step("select", Note, making("b")).text == "b"
        assert run.get("select", Note) is None


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    with Run(tmp_path, {"keep": 0.5, "seed": 0}):
        (tmp_path / "kept").touch()
    with pytest.raises(StoreError, match=r"other settings \(keep was 0.5, now 0.4\)"):
        Run(tmp_path, {"keep": 0.4, "seed": 0}).__enter__()
    with Run(tmp_path, {"keep": 0.4, "seed": 0}, extend=True):
        pass
    assert json.loads((tmp_path / "run.json").read_text())["settings"]["keep"] == 0.4


def test_a_run_that_holds_nothing_yet_takes_other_settings(tmp_path: Path) -> None:
    with Run(tmp_path, {"command": "prune", "model": "resnet21"}):
        pass  # as if the command had been refused
    with Run(tmp_path, {"command": "prune", "model": "resnet20"}):
        pass
    assert json.loads((tmp_path / "run.json").read_text())["settings"]["model"] == "resnet20"


def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="not empty and is not a winnow run"):
        Run(tmp_path, {}).__enter__()
    with pytest.raises(InputError, match="is a file"):
        Run(tmp_path / "thesis.tex", {}).__enter__()
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_nothing_is_cleaned_up_in_a_directory_that_is_not_ours(tmp_path: Path) -> None:
    part = tmp_path / "films" / ".a.winnow-part"
    part.parent.mkdir()
    part.write_text("half a film")
    with pytest.raises(StoreError, match="not a winnow run"):
        Run(tmp_path, {}).__enter__()
    assert part.exists()


def test_a_place_that_cannot_be_written_is_one_sentence() -> None:
    with pytest.raises(StoreError, match=r"cannot write /proc/nowhere/a.json"):
        write_json("/proc/nowhere/a.json", 1)
    with pytest.raises(InputError, match="cannot be written"):
        Run("/proc/nowhere", {}).__enter__()


def test_an_existing_run_keeps_its_settings(tmp_path: Path) -> None:
    with Run(tmp_path, {"command": "observe", "seed": 3}):
        pass
    with Run.existing(tmp_path) as run:
        run.put("score/el2n", Note("x"), 1.5)
    assert read_json(tmp_path / "run.json")["settings"] == {"command": "observe", "seed": 3}
    with pytest.raises(NotFoundError, match=r"holds no run\.json"):
        Run.existing(tmp_path / "nowhere")


def test_another_command_is_refused_even_where_a_run_may_grow(tmp_path: Path) -> None:
    with Run(tmp_path, {"command": "prune"}):
        (tmp_path / "kept").touch()
    with pytest.raises(StoreError, match="command was 'prune', now 'evaluate'"):
        Run(tmp_path, {"command": "evaluate"}, extend=True).__enter__()


def test_another_format_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"format": 99, "settings": {}})
    with pytest.raises(StoreError, match="format 99"):
        Run(tmp_path, {}).__enter__()


@pytest.mark.parametrize("content", [[], {"format": 2}, {"format": 2, "settings": 3}])
def test_a_file_that_describes_no_run_is_refused(content: object, tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", content)
    with pytest.raises(StoreError, match="does not describe a winnow run"):
        Run(tmp_path, {}).__enter__()


@pytest.mark.parametrize("damage", ["{", "[]", '{"key": 1}', None])
def test_a_damaged_record_heals(damage: str | None, tmp_path: Path) -> None:
    with Run(tmp_path, {}) as run:
        run.step("select", Note, making("a"))
        record = tmp_path / "steps" / "select.json"
        record.write_text(record.read_text().replace('"seconds": ', '"seconds": 9') if damage is None else damage)
        with pytest.warns(UserWarning, match=r"select\.json is not as winnow wrote it; the step select is made again"):
            assert run.step("select", Note, making("b")).text == "b"
        assert run.step("select", Note, never).text == "b"


def test_every_flipped_bit_of_an_artefact_is_noticed_and_mended(tmp_path: Path) -> None:
    def make() -> wn.Subset:
        return wn.Subset(np.arange(6), weights=np.linspace(0.5, 1.5, 6))

    with Run(tmp_path, {}) as run:
        run.step("select", wn.Subset, make, file="subset.parquet")
        file = tmp_path / "subset.parquet"
        whole = file.read_bytes()
        for place in range(0, len(whole), 97):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.warns(UserWarning, match=r"subset\.parquet has changed since it was written"):
                run.step("select", wn.Subset, make, file="subset.parquet")
            assert file.read_bytes() == whole
        file.unlink()
        with pytest.warns(UserWarning, match=r"subset\.parquet is missing"):
            run.step("select", wn.Subset, make, file="subset.parquet")
        assert file.read_bytes() == whole


HOLD = """
import sys, time
from winnow.core.run import Run
run = Run(sys.argv[1], {}).__enter__()
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    try:
        with pytest.raises(RunInUseError, match=f"in use by process {holder.pid}"):
            Run(tmp_path, {}).__enter__()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    with Run(tmp_path, {}):
        assert (tmp_path / "lock").read_text() == f"process {os.getpid()}"


def test_fingerprints_tell_boundaries_apart() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(b"x") == fingerprint(b"x")


def test_a_command_that_is_refused_before_it_writes_leaves_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError), Run(tmp_path / "new", {"command": "x"}):
        raise InputError("refused")
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError), Run(tmp_path / "mine", {"command": "x"}):
        raise InputError("refused")
    assert list((tmp_path / "mine").iterdir()) == []
    with pytest.raises(KeyboardInterrupt), Run(tmp_path / "stopped", {"command": "x"}):
        raise KeyboardInterrupt
    assert (tmp_path / "stopped" / "run.json").exists()
    begun = Run(tmp_path / "begun", {"command": "x"})
    with pytest.raises(InputError), begun:
        _write_and_refuse(tmp_path / "begun" / "result")
    assert (tmp_path / "begun" / "run.json").exists()
    with Run(tmp_path / "stopped", {"command": "x"}):
        pass
    with pytest.raises(InputError), Run(tmp_path / "stopped", {"command": "x"}):
        raise InputError("refused")
    assert (tmp_path / "stopped" / "run.json").exists()  # that of an earlier command


def _write_and_refuse(path: Path) -> None:
    path.write_text("work")
    raise InputError("refused later")
