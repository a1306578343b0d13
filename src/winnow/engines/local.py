"""The engine for one machine: a pool of processes, each with a fixed number of threads.

The number of threads affects the result (sums are split between threads, which changes rounding), the number of
workers does not. So every task runs with `threads` threads, in a worker or in this process, and the same seed gives the
same bits with any number of workers.

Workers are joblib's: started once, reused, and able to receive functions and models defined in a script or
a notebook, without a `__main__` guard. Starting one takes seconds (it imports torch), so small work starts in this
process: only if its first item shows that workers would be quicker do the others go there. What all items share
reaches each worker once (`parcel`). A worker ends when its parent does, in whatever way that ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import checks, registry
from ..core.errors import WinnowError
from .needs import Needs
from .parcel import parcel_file, unpacked_file
from .worker import claim_gpu, done, leave_with, shared_gpus

__all__ = ["START", "Local"]

START = 5.0  # seconds a worker needs to start and to import torch, on a machine with nothing else to do
SMALL = 3e7  # numbers that an item reads: with fewer, the first one is tried in this process
IDLE = 240.0  # seconds after which workers without work may have ended
ANY = Needs()
_pool = {"workers": 0, "used": -IDLE}  # the size of the pool, and when it was last used


@registry.engine(name="local")
@dataclass(frozen=True)
class Local:
    """Run tasks on this machine.

    Parameters
    ----------
    workers
        Number of processes at most; None uses one per core, and never more than there are tasks. Small work is done in
        this process.
    threads
        Threads per task. More than one may change the last bits of a result.
    gpus
        GPUs to hand out, one task each; None uses all that torch sees.

    Raises
    ------
    InputError
        If a number is below 1.

    Examples
    --------
    >>> [(index, result) for index, result, seconds in Local(workers=1).map(abs, [-1, -2])]
    [(0, 1), (1, 2)]
    >>> [result for _, result, _ in Local(workers=1).map(pow, [3, 4], shared=(2,))]
    [8, 16]
    """

    workers: int | None = None
    threads: int = 1
    gpus: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            checks.integer("workers", "Local", self.workers, low=1)
        checks.integer("threads", "Local", self.threads, low=1)
        if self.gpus is not None:
            checks.integer("gpus", "Local", self.gpus, low=0)

    def map(
        self, function: Callable[..., Any], items: Sequence[Any], *, shared: Sequence[Any] = (), needs: Needs = ANY
    ) -> Iterator[tuple[int, Any, float]]:
        """Do what `jobs.Engine` says; raises a WinnowError if a worker process was killed."""
        wanted = self.workers if self.workers is not None else max(1, cores() // self.threads)
        workers, devices = shared_gpus(min(wanted, len(items)), self._gpus() if needs.gpu else 0, needs)
        here = len(items) if workers <= 1 else 0
        if workers > 1 and needs.numbers is not None and needs.numbers <= SMALL and not _running(workers):
            index, result, seconds = done(function, shared, items[0], 0, self.threads, needs)
            yield index, result, seconds
            here = len(items) if stays_here(seconds, len(items) - 1, workers) else 1
            for index in range(1, here):
                yield done(function, shared, items[index], index, self.threads, needs)
        else:
            for index in range(here):
                yield done(function, shared, items[index], index, self.threads, needs)
        if here < len(items):
            yield from self._pooled(function, items, range(here, len(items)), workers, shared, needs, tuple(devices))

    def _gpus(self) -> int:
        if self.gpus is not None:
            return self.gpus
        import torch

        return torch.cuda.device_count()

    def _pooled(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        places: Sequence[int],
        workers: int,
        shared: Sequence[Any],
        needs: Needs,
        devices: tuple[str, ...],
    ) -> Iterator[tuple[int, Any, float]]:
        import joblib
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        with (
            parcel_file((function, tuple(shared))) as parcel,
            joblib.parallel_config(backend="loky", inner_max_num_threads=self.threads),
        ):
            pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="all", batch_size=1)
            work = joblib.delayed(_watched)
            about = (os.getpid(), parcel, self.threads, needs, devices)
            found = pool(work(about, items[index], index) for index in places)
            try:
                for one in found:
                    _pool.update(workers=workers, used=time.monotonic())
                    yield one
            except TerminatedWorkerError:
                _pool.update(workers=0)
                raise WinnowError(
                    "a worker process was killed, most likely because memory ran out; finished steps are "
                    "kept: run again with fewer workers."
                ) from None


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stays_here(seconds: float, left: int, workers: int) -> bool:
    """Whether the items that are left are done sooner in this process than by workers that must be started.

    >>> stays_here(0.1, 9, 2), stays_here(30.0, 9, 2), stays_here(30.0, 0, 2)
    (True, False, True)
    """
    return left * seconds <= START + -(-left // workers) * seconds


def _running(workers: int) -> bool:
    """Whether that many workers are there already, so that using them costs nothing."""
    return _pool["workers"] >= workers and time.monotonic() - _pool["used"] < IDLE


def _watched(about: tuple[int, str, int, Needs, tuple[str, ...]], item: Any, index: int) -> tuple[int, Any, float]:
    """Do an item in a worker, which does not outlive its parent and keeps its device."""
    parent, parcel, threads, needs, devices = about
    leave_with(parent)
    if devices:
        claim_gpu(parent, devices)
    function, shared = unpacked_file(parcel)
    return done(function, shared, item, index, threads, needs)
