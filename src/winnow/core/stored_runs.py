"""Run directories on disk: find them, verify them, make them smaller, delete them.

for run in stored_runs("runs"):
    print(run.path, run.command, run.steps, run.bytes)
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import NotFoundError, StoreError
from .files import PART, file_digest, read_json
from .run import FORMAT, Run
from .run_command import command_of
from .run_lock import LOCK
from .step_record import damaged_file, read_record, record_path
from .unfinished import UNFINISHED

__all__ = ["Damage", "StoredRun", "compact_run", "delete_run", "stored_run", "stored_runs", "verify_run", "whole"]

JOINT = "signals.safetensors"  # holds what the files of single trainings hold
PARTS = "observe/"
DEEP = 4  # folders from a run to any of its artefacts


@dataclass(frozen=True)
class StoredRun:
    """A run directory as it is on disk.

    Parameters
    ----------
    path
        The directory.
    format
        The version of its layout; None if `run.json` cannot be read.
    command
        The verb that made it.
    steps
        Number of finished steps.
    bytes
        Bytes of all its files.
    changed
        When a file of it was last written, in seconds since 1970.
    again
        The command that makes it again, if this winnow cannot go on with it.
    """

    path: Path
    format: int | None
    command: str
    steps: int
    bytes: int
    changed: float
    again: str | None = None


@dataclass(frozen=True)
class Damage:
    """A step whose record or files are not as winnow wrote them."""

    step: str
    what: str


def stored_runs(folder: str | Path) -> list[StoredRun]:
    """Return all runs below a folder, sorted by path; the folder itself may be one.

    Raises
    ------
    NotFoundError
        If there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise NotFoundError(f"there is no folder {root}.")
    return [stored_run(path) for path in sorted(_found(root))]


def _found(root: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if "run.json" in files:
            yield Path(place)


def stored_run(path: str | Path) -> StoredRun:
    """Return one run, of any format.

    Raises
    ------
    NotFoundError
        If the directory holds no `run.json`.
    """
    folder = Path(path)
    if not (folder / "run.json").is_file():
        raise NotFoundError(f"{folder} is not a winnow run: it holds no run.json.")
    try:
        about = read_json(folder / "run.json")
    except StoreError:
        about = None
    about = about if isinstance(about, dict) else {}
    number = about.get("format")
    settings = about.get("settings")
    files = [item.stat() for item in folder.rglob("*") if item.is_file()]
    return StoredRun(
        folder,
        number if isinstance(number, int) else None,
        str(settings.get("command", "?")) if isinstance(settings, dict) else "?",
        len(list(folder.glob("steps/**/*.json"))),
        sum(item.st_size for item in files),
        max(item.st_mtime for item in files),
        None if number == FORMAT else command_of(folder, about),
    )


def verify_run(path: str | Path) -> list[Damage]:
    """Compare all files of a run with the digests in its records; return what differs.

    Repeating the command of the run makes such steps again.

    Raises
    ------
    NotFoundError
        If the directory is not a run.
    StoreError
        If the run has another format.
    """
    folder = _current(path)
    return [Damage(step, what) for step, record in _records(folder) if (what := _damage(folder, record)) is not None]


def whole(path: str | Path) -> Path:
    """Return the path of an artefact, after a look at its bytes if a run recorded them.

    Raises
    ------
    StoreError
        If it is in a run whose records say that it was written with other bytes.
    """
    place = Path(path)
    folder = next((one for one in list(place.absolute().parents)[:DEEP] if (one / "run.json").is_file()), None)
    if folder is None or not place.exists():
        return place
    inside = os.path.relpath(place.absolute(), folder)
    said: dict[str, set[str]] = {}
    for _, record in _records(folder):
        for name, digest in {} if record is None else record["digests"].items():
            if name == inside or name.startswith(f"{inside}/"):
                said.setdefault(name, set()).add(digest)
    for name, digests in said.items():
        if not (folder / name).is_file() or file_digest(folder / name) not in digests:
            raise StoreError(
                f"{folder / name} is not as it was written; repeat the command of {folder} to make it again."
            )
    return place


def compact_run(path: str | Path) -> int:
    """Remove what a finished run can do without, and return how many bytes that were.

    These are unfinished files, checkpoints, damaged steps, and the signals of single trainings if a joint file holds
    them. Observing more seeds of a compacted run later trains the first ones again.

    Raises
    ------
    NotFoundError
        If the directory is not a run.
    StoreError
        If the run has another format.
    RunInUseError
        If a process works in it.
    """
    folder = _current(path)
    with Run.existing(folder):
        before = stored_run(folder).bytes
        for part in folder.rglob(f".*{PART}"):
            part.unlink(missing_ok=True)
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
        known = dict(_records(folder))
        joint = known.get("observe")
        joined = joint is not None and joint["file"] == JOINT and _damage(folder, joint) is None
        for step, record in known.items():
            if _damage(folder, record) is not None or (joined and step.startswith(PARTS)):
                _forget(folder, step, record)
        for place, _, _ in os.walk(folder, topdown=False):
            if not any(Path(place).iterdir()):
                Path(place).rmdir()
        return before - stored_run(folder).bytes


def delete_run(path: str | Path) -> int:
    """Delete a run directory of any format with everything in it; return how many bytes that were.

    Raises
    ------
    NotFoundError
        If the directory is not a run.
    RunInUseError
        If a process works in it.
    """
    found = stored_run(path)
    with Run.held(found.path):
        shutil.rmtree(found.path)
    return found.bytes


def _current(path: str | Path) -> Path:
    """The directory of a run that this winnow can go on with."""
    folder = Path(path)
    Run.existing(folder)  # raises if it is none, or of another format
    return folder


def _records(folder: Path) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield the name of each step and its record; None if that is damaged."""
    for file in sorted((folder / "steps").rglob("*.json")):
        yield str(file.relative_to(folder / "steps").with_suffix("")), read_record(file)


def _damage(folder: Path, record: dict[str, Any] | None) -> str | None:
    """What is wrong with a step, in words; None if nothing is."""
    if record is None:
        return "its record is not as winnow wrote it"
    found = damaged_file(folder, record)
    return None if found is None else " ".join(found)


def _forget(folder: Path, step: str, record: dict[str, Any] | None) -> None:
    """Remove a step: its record first, so that none is left without its files."""
    record_path(folder, step).unlink()
    for name in () if record is None else record["digests"]:
        file = folder / name
        if file.resolve().is_relative_to(folder.resolve()) and file.name != LOCK:
            file.unlink(missing_ok=True)
