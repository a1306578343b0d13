"""The record of a finished step: under which key, what it wrote, how long it took.

    RUN/steps/STEP.json     key, file, seconds, digests of the files, and a check of the record itself

A record whose check does not fit it counts as none. `docs/run-directory.md` describes the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import StoreError
from .files import file_digest, fingerprint, read_json, write_json

__all__ = ["damaged_file", "has_record", "read_record", "record_path", "recorded_seconds", "write_record"]

FIELDS = {"key", "file", "seconds", "digests"}


def record_path(run: Path, step: str) -> Path:
    """Return where the record of a step is."""
    return run / "steps" / f"{step}.json"


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record with its check."""
    write_json(path, {**record, "check": fingerprint(record)})


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a step's record, or None if it is not as it was written."""
    try:
        found = read_json(path)
        check = found.pop("check")
    except (StoreError, AttributeError, KeyError, TypeError):
        return None
    return found if check == fingerprint(found) and found.keys() >= FIELDS else None


def damaged_file(run: Path, record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first file of a step that is not as it was written, and what is wrong; None if there is none."""
    for name, digest in record["digests"].items():
        if not (run / name).is_file():
            return name, "is missing"
        if file_digest(run / name) != digest:
            return name, "has changed since it was written"
    return None


def has_record(run: Path, step: str, key: str) -> bool:
    """Whether a step is recorded as finished under a key, given as its fingerprint; files are not looked at."""
    path = record_path(run, step)
    found = read_record(path) if path.exists() else None
    return found is not None and bool(found["key"] == key)


def recorded_seconds(run: str | Path, step: str) -> float:
    """Return the seconds that a saved run records for a step, or for all steps below it."""
    steps = Path(run) / "steps"
    found = [steps / f"{step}.json", *(steps / step).rglob("*.json")] if (steps / step).is_dir() else []
    found = found[1:] or [steps / f"{step}.json"]  # if a step has parts, only the parts count
    return sum(float(read_json(path)["seconds"]) for path in found if path.exists())
