"""How benchmarks measure: every way in turn, processor seconds, medians over the turns."""

from __future__ import annotations

import math
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Reading(NamedTuple):
    """Median processor seconds, peak megabytes of the process (0 if not measured), and what the last call gave."""

    seconds: float
    megabytes: float
    result: Any


def interleaved(ways: dict[str, Callable[[], Any]], repeats: int = 3) -> dict[str, Reading]:
    """Run every way once, then all of them in turn, so that a slow minute slows each; in this process."""
    results = {name: way() for name, way in ways.items()}  # what is loaded and compiled once is not part of it
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.process_time()
            results[name] = way()
            seconds[name].append(time.process_time() - start)
    return {name: Reading(statistics.median(seconds[name]), 0.0, results[name]) for name in ways}


def apart(ways: dict[str, Callable[[], Any]], repeats: int = 3) -> dict[str, Reading]:
    """Run all ways in turn, each time in a new process, whose peak memory is then its own.

    A way is a picklable function that returns a pair: its processor seconds, and a small result.
    """
    context = multiprocessing.get_context("spawn")
    found: dict[str, list[tuple[float, float, Any]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            queue: Any = context.Queue()
            process = context.Process(target=_alone, args=(way, queue))
            process.start()
            found[name].append(queue.get())
            process.join()
    return {
        name: Reading(statistics.median(f[0] for f in each), max(f[1] for f in each), each[-1][2])
        for name, each in found.items()
    }


def _alone(way: Callable[[], Any], queue: Any) -> None:
    seconds, result = way()
    queue.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, result))


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of a line through the logarithms."""
    x, y = [math.log(s) for s in sizes], [math.log(max(s, 1e-6)) for s in seconds]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
