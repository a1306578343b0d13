"""What a worker does around each job: pin threads and device, wait for no parent that is gone, count its seconds."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from ..core.work_clock import begin, seconds_since
from .needs import Needs

__all__ = ["claim_gpu", "done", "leave_with", "shared_gpus"]

WATCH = 1.0  # seconds between two looks of a worker for its parent
VISIBLE = "CUDA_VISIBLE_DEVICES"
_claims: list[IO[str]] = []  # held as long as this process lives


def done(
    function: Callable[..., Any], shared: Sequence[Any], item: Any, index: int, threads: int, needs: Needs
) -> tuple[int, Any, float]:
    """Do one job on as many threads as promised; return its index, its result and its seconds."""
    if needs.network:
        _warm_up()
    with _threads(threads):
        start = begin()
        result = function(*shared, item)
        # A network trains in this process; an estimator may start processes of its own.
        return index, result, seconds_since(start) if needs.network else time.perf_counter() - start.wall


@cache
def leave_with(parent: int) -> None:
    """End this process soon after its parent has ended: a killed one cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="winnow-parent").start()


def shared_gpus(workers: int, gpus: int, needs: Needs) -> tuple[int, list[str]]:
    """Return how many workers may run at a time, and the names of the devices, one for each.

    >>> shared_gpus(4, 2, Needs(gpu=True))
    (2, ['0', '1'])
    >>> shared_gpus(4, 2, Needs()), shared_gpus(4, 0, Needs(gpu=True))
    ((4, []), (4, []))
    """
    if not (needs.gpu and gpus):
        return workers, []
    seen = [name for name in os.environ.get(VISIBLE, "").split(",") if name] or [str(k) for k in range(gpus)]
    names = seen[:gpus]
    return min(workers, len(names)), names


@cache
def claim_gpu(owner: int, names: tuple[str, ...]) -> str:
    """Take a device for this process alone, among those of its owner; released when the process ends, in whatever way.

    There are at most as many workers as devices, so one is free, or soon is, when an earlier worker has ended.
    """
    import fcntl

    folder = Path(tempfile.gettempdir()) / f"winnow-gpus-{owner}"
    folder.mkdir(exist_ok=True)
    while True:
        for name in names:
            file = (folder / f"{name}.lock").open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                continue
            _claims.append(file)
            os.environ[VISIBLE] = name  # before CUDA is first used in this process
            return name
        time.sleep(0.05)


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
