"""How long it takes to compare the examples of each class with each other by their lpNTK features.

Redundancy, farthest points and both lpNTK scores do so: with classes of size c their seconds are a c + b c^2 for each
class. Redundancy by the paper's rule compares all examples with all: everyone is then one group of size n. Two made-up
slices, of groups as large as is quickly done and half as large, give a and b; where the real groups are no larger, the
first slice is simply scaled by their number.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, Source
from ..core import registry
from ..core.seeds import stream
from ..pruning.request import Request
from ..scores.score import score
from ..selectors.select import select
from .workload import USUAL, Counts

__all__ = ["comparing"]

CLASS, ROWS = 1024, 2048  # examples of a class, and in all, that are quickly compared
WARM = 24  # examples of a slice that only warms up


def comparing(source: Source, request: Request, counts: Counts) -> float:
    """Seconds of scoring and selecting by lpNTK features, of any other nothing."""
    if not counts.tangents or source.labels is None:
        return 0.0
    sizes = np.bincount(np.asarray(source.labels, dtype=np.int64))
    sizes = sizes[sizes > 0]
    _seconds(request, counts, 2, WARM // 2)
    if _chosen_parameters(request).get("rule") == "paper":
        classes = max(2, min(sizes.size, counts.n // 4, ROWS // 4))
        each = max(2, min(counts.n, ROWS) // (2 * classes)) * 2  # even, so that half of it is exact
        everyone = np.array([counts.n])
        return _extrapolated(everyone, classes * each, lambda size: _seconds(request, counts, classes, size // classes))
    typical = max(2, round(float(np.square(sizes).sum() / sizes.sum())))  # the class that an example is in
    large = min(typical, CLASS)
    classes = max(2, min(sizes.size, ROWS // large))
    return _extrapolated(sizes, large, lambda size: _seconds(request, counts, classes, size) / classes)


def _extrapolated(groups: NDArray[np.int64], large: int, seconds: Callable[[int], float]) -> float:
    """Seconds of all groups, by those of one that is quickly done and, where they are larger, of one half that size."""
    n, squares = float(groups.sum()), float(np.square(groups.astype(np.float64)).sum())
    most = seconds(large)
    if round(squares / n) <= max(large, 2):
        return most * n / large
    few = seconds(large // 2)
    square = max(0.0, most / large - few / (large // 2)) / (large - large // 2)
    line = max(0.0, most / large - square * large)
    return line * n + square * squares


def _chosen_parameters(request: Request) -> dict[str, Any]:
    """What the selector is called with, as `request.choose` does."""
    return {**request.plan.parameters, **request.parameters}


def _seconds(request: Request, counts: Counts, classes: int, each: int) -> float:
    """Seconds for so many made-up classes of so many examples."""
    signals, plan = _made_up(counts, classes, each), request.plan
    given: Scores | Signals = signals
    start = time.perf_counter()
    if plan.score is not None and "lpntk" in registry.get("score", plan.score).needs:
        given = score(plan.score, signals)
    elif plan.score is not None:
        given = Scores(plan.score, signals.ids, np.zeros(len(signals)), None, "classification", signals.labels)
    if "lpntk" in registry.get("selector", plan.selector).needs:
        size = max(1, round(len(signals) * counts.kept / counts.n))
        beside = signals if isinstance(given, Scores) else None
        asked = _chosen_parameters(request)
        select(plan.selector, given, size=size, balance=request.balance, signals=beside, **asked)
    return time.perf_counter() - start


def _made_up(counts: Counts, classes: int, each: int) -> Signals:
    """Features that share a direction with their class, some more and some less, as real ones do."""
    rng = stream(0, "estimate", "lpntk")
    rows, dim = classes * each, USUAL["gradient_dim"]
    labels = np.arange(rows) % classes
    array = rng.standard_normal((counts.watched, rows, dim), dtype=np.float32)
    directions = rng.standard_normal((counts.watched, classes, dim), dtype=np.float32)
    nearness = rng.uniform(0.3, 1.0, rows).astype(np.float32)[:, None]
    array *= np.sqrt(1 - nearness**2)
    array += nearness * directions[:, labels]
    array *= rng.lognormal(size=rows).astype(np.float32)[:, None]
    names = tuple(map(str, range(classes)))
    return Signals(np.arange(rows), {"lpntk": array}, "classification", labels, names)
