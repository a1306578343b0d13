"""An engine that does everything an engine may do, and a little more: any order, twice, and killed in the middle."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from winnow.engines import Needs


@dataclass
class Hostile:
    """Work in this process, in random order, with jobs that are done twice or begun by a child that is killed.

    Parameters
    ----------
    seed
        Decides what happens to which job.
    stops
        After how many jobs the driver is interrupted, for each map in turn; it is not where the list ends.
    forks
        Whether a job may be begun by a child of this process, killed after a few milliseconds.
    """

    seed: int = 0
    stops: list[int] = field(default_factory=list)
    forks: bool = True
    threads: int = 1
    executed: int = 0

    def map(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        *,
        shared: Sequence[Any] = (),
        needs: Needs | None = None,
    ) -> Iterator[tuple[int, Any, float]]:
        dice = random.Random(self.seed)
        order = list(range(len(items)))
        dice.shuffle(order)
        stop = self.stops.pop(0) if self.stops and items else None
        for turn, index in enumerate(order):
            if turn == stop:
                raise KeyboardInterrupt
            if self.forks and dice.random() < 0.5:
                _killed(lambda index=index: function(*shared, items[index]), dice.random() / 100)
            for _ in range(1 + (dice.random() < 0.5)):
                self.executed += 1
                result = function(*shared, items[index])
            yield index, result, dice.random()


def _killed(work: Callable[[], Any], seconds: float) -> None:
    """Begin some work in a child, and kill it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
