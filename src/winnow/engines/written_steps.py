"""The steps of a run, written down before they are done, so that any process can do one of them.

`RUN/todo.json` lists the steps of the stage that the run is in: name, function, a fingerprint of the inputs, and the
file to be written. Inputs are not stored there. The command is, so `winnow do RUN STEP` repeats the command with an
engine that does only that step: what the step needs is opened and computed as it was the first time, finished steps
are loaded, and nothing is unpickled. Several such processes may work in one run at the same time
(`core.run_lock.together`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import registry
from ..core.errors import NotFoundError, StoreError, WinnowError
from ..core.files import fingerprint, read_json, write_json
from ..core.invocation import command_words
from ..core.step_record import has_record
from .needs import Needs
from .receipts import Job

if TYPE_CHECKING:
    from .jobs import Engine

__all__ = ["TODO", "Later", "StepsDone", "StepsLeft", "chosen_steps", "listed_steps", "only_steps", "write_steps"]

TODO = "todo.json"
SHOWN = 3  # names in a sentence
_wanted: ContextVar[Only | None] = ContextVar("wanted", default=None)


class StepsLeft(WinnowError):
    """The steps of this stage are written down, and none was done here."""

    exit_code = 3


class StepsDone(BaseException):
    """The wanted steps are done; the rest of the command is not for this process."""


@registry.engine(name="later")
@dataclass(frozen=True)
class Later:
    """Do no step: write them down for `winnow do`, and stop.

    Run the same command again when they are done: it goes on to the next stage, or to the end.
    """

    threads: int = 1

    def map(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        *,
        shared: Sequence[Any] = (),
        needs: Needs | None = None,
    ) -> Iterator[tuple[int, Any, float]]:
        """Raise if anything is to be done."""
        if items:
            path = getattr(getattr(function, "place", None), "path", None)
            if path is None:
                raise WinnowError("engine later writes steps down in a run directory; give one with out (--out).")
            raise StepsLeft(
                f"{len(items)} step{'s are' if len(items) > 1 else ' is'} open in {path}: winnow do {path} --list "
                "shows them; do them with winnow do, then repeat this command."
            )
        yield from ()


@dataclass
class Only:
    """An engine that does the wanted steps of a stage and then stops the command."""

    names: Collection[str]
    inner: Any
    done: list[str] = field(default_factory=list)
    threads: int = 1

    def map(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        *,
        shared: Sequence[Any] = (),
        needs: Needs | None = None,
    ) -> Iterator[tuple[int, Any, float]]:
        """Yield what the wanted ones give."""
        if not items:
            return
        mine = [index for index, job in enumerate(items) if job.name in self.names]
        if not mine:
            others = [job.name for job in items]
            more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
            raise WinnowError(f"{sorted(self.names)[0]} waits for {', '.join(others[:SHOWN])}{more}, which are open.")
        how: dict[str, Any] = {"shared": shared} | ({} if needs is None else {"needs": needs})
        for place, made, seconds in self.inner.map(function, [items[index] for index in mine], **how):
            yield mine[place], made, seconds
            self.done.append(items[mine[place]].name)
        raise StepsDone


@contextmanager
def only_steps(names: Collection[str], inner: Any) -> Iterator[Only]:
    """Let every command within the block do only these steps."""
    chosen = Only(names, inner)
    token = _wanted.set(chosen)
    try:
        yield chosen
    finally:
        _wanted.reset(token)


def chosen_steps(engine: Engine, missing: Sequence[str]) -> Engine:
    """Return the engine, or the one that does only the wanted steps."""
    found = _wanted.get()
    return engine if found is None or not missing else found


def write_steps(path: Path, function: Callable[..., Any], jobs: Sequence[Job[Any]]) -> None:
    """Write down the steps of a stage, unless another process is told to do one of them."""
    if _wanted.get() is not None:
        return
    whole = getattr(function, "func", function)
    name = f"{whole.__module__}:{getattr(whole, '__qualname__', type(whole).__name__)}"
    steps = [{"name": job.name, "function": name, "inputs": fingerprint(job.key), "file": job.where} for job in jobs]
    called = command_words()
    words = None if called is None else list(called)
    write_json(path / TODO, {"command": words, "folder": str(Path.cwd()) if called else None, "steps": steps})


def listed_steps(path: str | Path) -> dict[str, Any]:
    """Return the command of a run, its folder and the steps of its stage; each says in `done` whether it is recorded.

    Raises
    ------
    NotFoundError
        If the run has not written down any steps.
    """
    file = Path(path) / TODO
    if not file.is_file():
        raise NotFoundError(
            f"{path} has no open steps: it holds no {TODO}. Write them down with the command and --engine later."
        )
    found = read_json(file)
    if not isinstance(found, dict) or not {"command", "folder", "steps"} <= found.keys():
        raise StoreError(f"{file} does not list the steps of a run; repeat the command with --engine later.")
    steps = [{**step, "done": has_record(Path(path), step["name"], step["inputs"])} for step in found["steps"]]
    return {**found, "steps": steps}
