"""Receipts: a worker writes the artefact of a step itself and returns what it wrote; the driver only records it.

    driver                                       worker
    map(Work(function, place), jobs, shared=)    made = function(*shared, job.item)
                                                 made.save(run directory / job.file)
    record(file, digests, seconds)        <---   Receipt(file, digests, rows)

A worker that cannot see the run directory (another machine, no shared file system) puts the files into the receipt,
and the driver writes them. Without a run directory the receipt holds the result itself.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

from ..core.files import PART, atomic, file_digest, written_files
from ..core.serialiser import durations_of
from ..core.unfinished import under_way

__all__ = ["Job", "Place", "Receipt", "Work", "place_of", "received"]

T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """One step of a run: its name, the argument of the function, what it depends on, where it is stored."""

    name: str
    item: T
    key: object = None
    file: str | None = None

    @property
    def where(self) -> str:
        """Path of its artefact in the run."""
        return self.name if self.file is None else self.file


@dataclass(frozen=True)
class Place:
    """A run directory, and a file in it that only this run has: who sees the file sees the directory."""

    path: str
    mark: str

    @property
    def seen(self) -> bool:
        """Whether this process can write there."""
        return (Path(self.path) / self.mark).exists()


@dataclass(frozen=True)
class Receipt:
    """What a worker did.

    Parameters
    ----------
    file
        Path of the artefact in the run directory.
    digests
        Digest of each file that was written, by its path in the run directory.
    rows
        Number of examples in the artefact; None if it has none.
    files
        The files themselves, if the worker could not see the run directory.
    made
        The artefact itself, if there is no run directory.
    durations
        What the artefact holds and its files do not.
    earlier
        Seconds that other processes spent on the step before they were killed, on what was not done again.
    """

    file: str
    digests: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    made: Any = None
    durations: Mapping[str, Any] = field(default_factory=dict)
    earlier: float = 0.0


@dataclass(frozen=True)
class Work:
    """The function that an engine maps over jobs.

    Parameters
    ----------
    function
        Makes an artefact from the shared arguments and the item of a job.
    place
        The run directory; None if there is none.
    """

    function: Callable[..., Any]
    place: Place | None

    def __call__(self, *arguments: Any) -> Receipt:
        """Do a job, the last of the arguments, and write its artefact."""
        *shared, job = arguments
        home = None if self.place is None else Path(self.place.path)
        kept = home if self.place is not None and self.place.seen else None
        with under_way(kept, job.name, job.key) as step, written_files() as aside:
            made = self.function(*shared, job.item)
            # beside it there may be more files, such as a network that is kept with what its training revealed
        rows = len(made) if hasattr(made, "__len__") else None
        if self.place is None or home is None:
            return Receipt(job.where, rows=rows, made=made)
        spent: dict[str, Any] = {"durations": durations_of(made), "earlier": 0.0 if step is None else step.earlier}
        beside = {os.path.relpath(file, home): file for file in aside if file.is_relative_to(home)}
        digests = {name: file_digest(file) for name, file in beside.items()}
        if self.place.seen:
            return Receipt(job.where, digests | _written(made, home, job.where), rows, **spent)
        with tempfile.TemporaryDirectory() as folder:
            mine = _written(made, Path(folder), job.where)
            files = {name: (Path(folder) / name).read_bytes() for name in mine}
        files |= {name: file.read_bytes() for name, file in beside.items()}
        for file in beside.values():
            file.unlink()
        return Receipt(job.where, digests | mine, rows, files, **spent)


def _written(made: Any, folder: Path, where: str) -> dict[str, str]:
    """Save an artefact; return the digests of its files."""
    with written_files() as files:
        made.save(folder / where)
    return {os.path.relpath(file, folder): file_digest(file) for file in files}


def received(receipt: Receipt, folder: Path) -> None:
    """Write the files that came with a receipt."""
    for name, content in receipt.files.items():
        with atomic(folder / name) as part:
            part.write_bytes(content)


@contextmanager
def place_of(path: Path | None) -> Iterator[Place | None]:
    """Yield the run directory as workers see it, with a mark that is removed at the end."""
    if path is None:
        yield None
        return
    mark = path / f".{uuid4().hex}{PART}"  # a run that is opened later removes one that was left
    mark.touch()
    try:
        yield Place(str(path.resolve()), mark.name)
    finally:
        mark.unlink(missing_ok=True)
