"""The engine for one machine: a pool of processes, each with a fixed number of threads.

The number of threads affects the result (sums are split between threads, which changes rounding), the number of
workers does not. So every task runs with `threads` threads, in a worker or in this process, and the same seed gives the
same bits with any number of workers.

Workers are joblib's: started once, reused, and able to receive functions and models defined in a script or
a notebook, without a `__main__` guard. A worker ends when its parent does, in whatever way that ended.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from ..core import checks, registry
from ..core.errors import InputError, WinnowError
from ..core.parameter_names import of
from ..core.request import Parameter, whole
from .jobs import Engine

__all__ = ["Local", "Where", "describe", "engine_of", "named_engine"]

T = TypeVar("T")
R = TypeVar("R")
WATCH = 1.0  # seconds between two looks of a worker for its parent


@registry.engine(name="local")
@dataclass(frozen=True)
class Local:
    """Run tasks on this machine.

    Parameters
    ----------
    workers
        Number of processes; None uses one per core, and never more than there are tasks.
    threads
        Threads per task. More than one may change the last bits of a result.

    Raises
    ------
    InputError
        If a number is below 1.

    Examples
    --------
    >>> [(index, result) for index, result, seconds in Local(workers=1).map(abs, [-1, -2])]
    [(0, 1), (1, 2)]
    """

    workers: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        if self.workers is not None:
            checks.integer("workers", "Local", self.workers, low=1)
        checks.integer("threads", "Local", self.threads, low=1)

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R, float]]:
        """Yield (index, result, seconds) of each item as it finishes.

        Parameters
        ----------
        function
            Called once per item.
        items
            The arguments.

        Raises
        ------
        WinnowError
            If a worker process was killed.
        """
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        wanted = self.workers if self.workers is not None else max(1, cores // self.threads)
        workers = min(wanted, len(items))
        if workers <= 1:
            for index, item in enumerate(items):
                yield _timed(function, item, index, self.threads)
            return
        yield from _pooled(function, items, workers, self.threads)


def _pooled(
    function: Callable[[T], R], items: Sequence[T], workers: int, threads: int
) -> Iterator[tuple[int, R, float]]:
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with joblib.parallel_config(backend="loky", inner_max_num_threads=threads):
        pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        work = joblib.delayed(_watched)
        done = pool(work(os.getpid(), function, item, index, threads) for index, item in enumerate(items))
        try:
            yield from done
        except TerminatedWorkerError:
            raise WinnowError(
                "a worker process was killed, most likely because memory ran out; finished steps are "
                "kept: run again with fewer workers."
            ) from None


def _watched(parent: int, function: Callable[[T], R], item: T, index: int, threads: int) -> tuple[int, R, float]:
    """The same in a worker, which does not outlive its parent."""
    _leave_with(parent)
    return _timed(function, item, index, threads)


@cache
def _leave_with(parent: int) -> None:
    """End this process soon after its parent has ended: a killed one cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="winnow-parent").start()


def _timed(function: Callable[[T], R], item: T, index: int, threads: int) -> tuple[int, R, float]:
    _warm_up()
    with _threads(threads):
        start = time.perf_counter()
        result = function(item)
        return index, result, time.perf_counter() - start


@cache
def _warm_up() -> None:
    """Load what torch imports with the first optimiser, which takes seconds, before any task is timed."""
    import torch

    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1).zero_grad()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads within the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def engine_of(owner: str, engine: Any) -> Engine:
    """Return the engine, or the registered one of that name; this machine if None is given.

    Parameters
    ----------
    owner
        The calling function, named in errors.
    engine
        An engine, the name of a registered one, or None.

    Returns
    -------
    Engine
        The engine.

    Raises
    ------
    InputError
        If `engine` has no `map` method.
    UnknownNameError
        If no engine has that name.

    Examples
    --------
    >>> engine_of("observe", None) == engine_of("observe", "local")
    True
    """
    return Local() if engine is None else _engine("engine", owner, engine)


def named_engine(
    engine: Annotated[str | None, Parameter("Where work runs; winnow methods lists the engines.")] = None,
    workers: Annotated[int | None, whole("Number of worker processes; all cores if not given.", low=1)] = None,
) -> Engine | None:
    """The engine that the command line names; None if it says nothing."""
    if engine is None and workers is None:
        return None
    made = _engines()[checks.choice("engine", "Local", engine or "local", _engines())]
    return cast(Engine, made.function() if workers is None else made.function(workers=workers))


def describe(engine: Any) -> dict[str, Any]:
    """The part of an engine that belongs in provenance: the threads, not the workers."""
    return {"threads": getattr(engine, "threads", 1)}


def _engines() -> dict[str, Any]:
    return {entry.name: entry for entry in registry.listing("engine")}


def _engine(name: str, owner: str, engine: Any) -> Engine:
    if isinstance(engine, str):
        return cast(Engine, _engines()[checks.choice(name, owner, engine, _engines())].function())
    if not callable(getattr(engine, "map", None)):
        raise InputError(f"{of(name, owner)} must be an engine, such as Local(workers=2); got {type(engine).__name__}.")
    return cast(Engine, engine)


Where = Annotated[
    Engine | str | None,
    Parameter("Where work runs.", _engine, plain=describe, group=named_engine, owner="Local", usual=Local),
]
