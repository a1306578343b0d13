"""Jobs: steps of a run that may run in parallel, each stored and recorded as soon as it finishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ..core.code_digest import coded
from ..core.errors import WinnowError
from ..core.progress import task
from ..core.run import Artefact, Run
from ..core.serialiser import timed
from .needs import Needs
from .receipts import Job, Receipt, Work, place_of, received
from .written_steps import chosen_steps, write_steps

__all__ = ["Engine", "Job", "missing_jobs", "run_jobs"]

R = TypeVar("R", bound=Artefact)
ANY = Needs()


class Engine(Protocol):
    """Anything that can run a function over items and yield (index, result, seconds) as they finish.

    This is the second contract of engines; `winnow.testing.check_engine` checks it. The order is free, and a job may be
    done twice, because every job is a function of its arguments and writes the same bytes. Each index is yielded once.
    """

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Needs = ANY
    ) -> Iterator[tuple[int, Any, float]]:
        """Yield (index, function(*shared, item), seconds) of each item as it finishes.

        Parameters
        ----------
        function
            Called once per item.
        items
            The arguments that differ.
        shared
            Arguments before the item that are the same for all; they reach each worker once.
        needs
            What a job needs of a machine.
        """
        ...


def run_jobs(
    run: Run,
    engine: Engine,
    function: Callable[..., R],
    jobs: Sequence[Job[Any]],
    kind: type[R],
    label: str,
    *,
    shared: Sequence[Any] = (),
    needs: Needs = ANY,
) -> list[R]:
    """Return the results of all jobs in order: finished ones are loaded, missing ones are run and stored one by one.

    The steps are written down before any of them is run (`steps`), so that other processes can do them.

    Parameters
    ----------
    run
        The run directory.
    engine
        Where the missing jobs run.
    function
        Computes the result of a job from the shared arguments and its own.
    jobs
        The jobs.
    kind
        The type of the results, which can be saved and loaded.
    label
        Text of the progress bar.
    shared
        Arguments that all jobs have in common.
    needs
        What a job needs of a machine.

    Returns
    -------
    list
        One result per job.
    """
    jobs = [replace(job, name=run.folder + job.name, file=run.folder + job.where) for job in keyed(function, jobs)]
    run = run.whole
    results: list[R | None] = [run.get(job.name, kind, key=job.key) for job in jobs]
    missing = [index for index, found in enumerate(results) if found is None]
    if run.path is not None and missing:
        write_steps(run.path, function, jobs)
    engine = chosen_steps(engine, [jobs[index].name for index in missing])
    with task(label, len(jobs)) as advance, place_of(run.path) as place:
        advance(len(jobs) - len(missing))
        work, left = Work(function, place), [jobs[index] for index in missing]
        for at, made, seconds in engine.map(work, left, shared=shared, needs=needs) if left else ():
            index = missing[at]
            if results[index] is None:
                results[index] = _recorded(run, jobs[index], made, seconds, kind)
                advance(1)
    done = [found for found in results if found is not None]
    if len(done) < len(jobs):
        raise WinnowError(f"engine {type(engine).__name__} ended with {len(jobs) - len(done)} jobs not done.")
    return done


def keyed(function: Callable[..., Any], jobs: Sequence[Job[Any]]) -> list[Job[Any]]:
    """Return the jobs with keys that also hold the code of the function that does them."""
    return [replace(job, key=coded(function, job.key)) for job in jobs]


def missing_jobs(run: Run, function: Callable[..., Any], jobs: Sequence[Job[Any]], kind: type[Artefact]) -> bool:
    """Whether a job would have to be done."""
    return any(run.get(job.name, kind, key=job.key) is None for job in keyed(function, jobs))


def _recorded(run: Run, job: Job[Any], made: Any, seconds: float, kind: type[R]) -> R:
    """Record a step whose artefact a worker has written, and load it; keep it here if there is no directory."""
    if not isinstance(made, Receipt):  # an engine that made it up
        return run.put(job.name, made, seconds, key=job.key, file=job.file)  # type: ignore[no-any-return]
    if run.path is None:
        return run.put(job.name, made.made, seconds, key=job.key, file=job.file)  # type: ignore[no-any-return]
    received(made, run.path)
    run.record(job.name, made.file, made.digests, seconds + made.earlier, key=job.key, durations=made.durations)
    return timed(kind.load(run.path / made.file), made.durations)  # type: ignore[no-any-return]
