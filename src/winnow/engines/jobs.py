"""Jobs: steps of a run that may run in parallel, each stored as soon as it finishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..core.progress import task
from ..core.run import Artefact, Run

__all__ = ["Engine", "Job", "run_jobs"]

T = TypeVar("T")
R = TypeVar("R", bound=Artefact)


class Engine(Protocol):
    """Anything that can run a function over items and yield (index, result, seconds) as they finish."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any, float]]:
        """Yield (index, result, seconds) of each item as it finishes."""
        ...


@dataclass(frozen=True)
class Job(Generic[T]):
    """One step of a run: its name, the argument of the function, what it depends on, where it is stored."""

    name: str
    item: T
    key: object = None
    file: str | None = None


def run_jobs(
    run: Run, engine: Engine, function: Callable[[T], R], jobs: Sequence[Job[T]], kind: type[R], label: str
) -> list[R]:
    """Return the results of all jobs in order: finished ones are loaded, missing ones are run and stored one by one.

    Parameters
    ----------
    run
        The run directory.
    engine
        Where the missing jobs run.
    function
        Computes the result of a job from its argument.
    jobs
        The jobs.
    kind
        The type of the results, which can be saved and loaded.
    label
        Text of the progress bar.

    Returns
    -------
    list
        One result per job.
    """
    results: list[R | None] = [run.get(job.name, kind, key=job.key) for job in jobs]
    missing = [index for index, found in enumerate(results) if found is None]
    with task(label, len(jobs)) as advance:
        advance(len(jobs) - len(missing))
        for place, made, seconds in engine.map(function, [jobs[index].item for index in missing]):
            job = jobs[missing[place]]
            results[missing[place]] = run.put(job.name, made, seconds, key=job.key, file=job.file)
            advance(1)
    return [found for found in results if found is not None]
