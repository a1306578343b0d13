"""The time of methods that compare examples with each other, within each class or across all classes.

For groups of size c it is a c + b c^2 seconds per group. The groups are the classes if the cost is declared as
`class^2`, and one group of all examples if it is `n^2`. Timing two synthetic samples, with groups as large as is quick
and half as large, gives a and b. If the real groups are no larger, the first time is scaled by their number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, Source
from ..artefacts.task_labels import Task
from ..core import registry
from ..core.seeds import stream
from ..pruning.rehearsal import made_up
from ..pruning.resolved_request import Request
from ..scores.score import score
from ..selectors.select import select
from .workload import Counts

__all__ = ["Half", "comparing", "halves_of"]

CLASS, ROWS = 1024, 2048  # examples per class, and in total, that are quick to compare
WARM = 24  # examples of a warm-up sample
QUICK = 0.1  # seconds below which a sample is timed again


@dataclass(frozen=True)
class Half:
    """The score or the selector of a method, with its parameters, as the request runs it."""

    method: registry.Method
    parameters: Mapping[str, Any]
    task: Task
    balance: float | None = None

    @property
    def cost(self) -> registry.Cost:
        """How time and memory grow with these parameters."""
        return self.method.cost_of(self.parameters)

    def slice(self, counts: Counts, rows: int, classes: int, seeds: int = 1) -> Signals:
        """Synthetic signals that it can work on."""
        sizes = {**counts.sizes, "examples": rows, "classes": classes, "seeds": seeds, "models": counts.members}
        return made_up(self.task, sizes, "estimate", self.method.needs)

    def seconds(self, signals: Signals, size: int, balance: float | None = None) -> float:
        """Measured seconds on these signals, to score all or to select this many."""
        given: Scores | Signals = signals
        if "scores" in self.method.needs:
            noise = stream(0, "estimate", "scores").random(len(signals))
            given = Scores("made up", signals.ids, noise, None, signals.task, signals.labels, signals.classes)
        start = time.perf_counter()
        if self.method.kind == "score":
            score(self.method.name, signals, **self.parameters)
        else:
            beside = signals if isinstance(given, Scores) else None
            select(self.method.name, given, size=size, balance=balance, signals=beside, **self.parameters)
        return time.perf_counter() - start


def halves_of(request: Request, task: Task) -> list[Half]:
    """The score, if there is one, and the selector of a request."""
    given = {"score": request.plan.score_parameters, "selector": request.plan.parameters}
    return [Half(method, given[kind], task, request.balance) for kind, method in request.plan.methods.items()]


def comparing(source: Source, request: Request, counts: Counts) -> float:
    """Seconds of scoring and selecting by methods that compare examples with each other; 0 for all others."""
    return sum(_compared(source, half, counts) for half in halves_of(request, source.task) if half.cost.pairs)


def _compared(source: Source, half: Half, counts: Counts) -> float:
    """Seconds of one half."""
    labelled = source.task == "classification" and source.labels is not None
    sizes = np.bincount(np.asarray(source.labels, dtype=np.int64)) if labelled else np.array([counts.n])
    sizes = sizes[sizes > 0]
    _seconds(half, counts, 2 if labelled else 1, WARM // 2)
    if half.cost.time == "n^2" or not labelled:
        classes = max(2, min(sizes.size, counts.n // 4, ROWS // 4)) if labelled else 1
        each = max(2, min(counts.n, ROWS) // (2 * classes)) * 2  # even, so that half of it is exact
        everyone = np.array([counts.n])
        return _extrapolated(everyone, classes * each, lambda size: _seconds(half, counts, classes, size // classes))
    typical = max(2, round(float(np.square(sizes).sum() / sizes.sum())))  # class size, averaged over examples
    large = min(typical, CLASS)
    classes = max(2, min(sizes.size, ROWS // large))
    return _extrapolated(sizes, large, lambda size: _seconds(half, counts, classes, size) / classes)


def _extrapolated(groups: NDArray[np.int64], large: int, seconds: Callable[[int], float]) -> float:
    """Seconds of all groups, from those of a quick one and, if they are larger, of one half its size."""
    n, squares = float(groups.sum()), float(np.square(groups.astype(np.float64)).sum())
    most = seconds(large)
    if round(squares / n) <= max(large, 2):
        return most * n / large
    few = seconds(large // 2)
    square = max(0.0, most / large - few / (large // 2)) / (large - large // 2)
    line = max(0.0, most / large - square * large)
    return line * n + square * squares


def _seconds(half: Half, counts: Counts, classes: int, each: int) -> float:
    """Seconds for a number of synthetic classes with `each` examples."""
    rows = classes * each
    signals = half.slice(
        counts, rows, classes if half.task in ("classification", "multilabel") else 0, max(1, counts.watched)
    )
    size = max(1, round(rows * counts.kept / counts.n))
    found = half.seconds(signals, size, half.balance)
    return found if found > QUICK else min(found, *(half.seconds(signals, size, half.balance) for _ in range(2)))
