"""The step under way: where long work within it may keep what is done so far, to go on from there after a kill.

    RUN/unfinished/STEP/0.safetensors       the first piece of work of the step, such as a training; 1 is the second
    RUN/unfinished/STEP/NAME.safetensors    a piece of work with a name, such as rows of a pass

Who runs a step says so (`under_way`), and the work asks for its file (`next_piece`, `piece_named`). Nothing is kept if
there is no run directory. The folder is removed when the step is recorded as finished. What is kept names the key of
the step, so that it is never used for another one.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from .files import fingerprint

__all__ = ["UNFINISHED", "Piece", "StepUnderWay", "forget_unfinished", "next_piece", "piece_named", "under_way"]

UNFINISHED = "unfinished"


@dataclass
class StepUnderWay:
    """A step that this process is at.

    Parameters
    ----------
    folder
        Where its pieces are kept.
    key
        Fingerprint of all that it depends on.
    earlier
        Seconds that other processes spent on what this one did not have to do again.
    """

    folder: Path
    key: str
    earlier: float = 0.0
    _begun: int = 0
    _start: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        """Seconds spent on the step so far, by all processes."""
        return self.earlier + time.perf_counter() - self._start


@dataclass(frozen=True)
class Piece:
    """One piece of work within a step, and the file that keeps it."""

    step: StepUnderWay
    file: Path


_current: ContextVar[StepUnderWay | None] = ContextVar("step under way", default=None)


@contextmanager
def under_way(run: Path | None, name: str, key: object) -> Iterator[StepUnderWay | None]:
    """Let work within the block be kept for this step; not at all without a run directory."""
    step = None if run is None else StepUnderWay(run / UNFINISHED / name, fingerprint(key))
    token = _current.set(step)
    try:
        yield step
    finally:
        _current.reset(token)


def next_piece() -> Piece | None:
    """Return the next piece of work of the step under way, counted in the order of calls; None if nothing is kept."""
    step = _current.get()
    if step is None:
        return None
    step._begun += 1
    return Piece(step, step.folder / f"{step._begun - 1}.safetensors")


def piece_named(name: str) -> Piece | None:
    """Return the piece of work of the step under way that has this name; None if nothing is kept."""
    step = _current.get()
    return None if step is None else Piece(step, step.folder / f"{name}.safetensors")


def forget_unfinished(run: Path, name: str) -> None:
    """Remove what was kept for a step that is finished, and folders that are empty without it."""
    place = run / UNFINISHED / name
    if not place.is_dir():
        return
    shutil.rmtree(place, ignore_errors=True)
    for folder in place.parents:
        if folder == run or any(folder.iterdir()):
            break
        folder.rmdir()
