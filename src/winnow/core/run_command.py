"""The command that makes a run again: as it was given, or put together from what the run says about itself."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["command_of"]

APART = {"command", "source", "test", "engine", "veto"}  # settings that no option spells as they are stored
DATA = "DATA"  # where the data are not known


def command_of(folder: Path, about: Mapping[str, Any]) -> str:
    """Return a command line that makes a run again in another directory.

    Parameters
    ----------
    folder
        The run directory.
    about
        Its `run.json`, of any format.
    """
    out = ["--out", f"{folder}-again"]
    called = about.get("called")
    if isinstance(called, list) and all(isinstance(word, str) for word in called):
        return shlex.join(["winnow", *called, *out])
    settings = about.get("settings")
    settings = settings if isinstance(settings, Mapping) else {}
    verb = str(settings.get("command", "prune")).split(" ")[0]
    return shlex.join(["winnow", verb, _data(folder), *_options(settings), *out])


def _options(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that are plain values as options; what was not asked for is left out."""
    recipe = settings.get("recipe")
    for name, value in {**settings, **(recipe if isinstance(recipe, Mapping) else {})}.items():
        plain = isinstance(value, int | float) or (isinstance(value, str) and value not in ("", "auto"))
        if name not in APART and plain and not isinstance(value, bool) and value != 0:
            yield from (f"--{name.replace('_', '-')}", f"{value}")


def _data(folder: Path) -> str:
    """Where the data were, from the provenance of an artefact of the run."""
    for file in sorted(folder.glob("*.parquet")):
        found = _origin(_said(file))
        if found is not None:
            return found
    return DATA


def _said(file: Path) -> Any:
    """What a table says about itself."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return json.loads((pq.read_schema(file).metadata or {})[b"winnow"])
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return None


def _origin(said: Any) -> str | None:
    """The path or the name of the source, anywhere within a provenance."""
    if not isinstance(said, Mapping):
        return None
    origin = said.get("origin")
    if isinstance(origin, Mapping):
        found = origin.get("url") or origin.get("path") or said.get("name")
        return found if isinstance(found, str) else None
    return next((found for value in said.values() if (found := _origin(value)) is not None), None)
