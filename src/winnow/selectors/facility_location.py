"""Facility location: every example is served by a kept one near to it.

The objective is the sum over examples of the similarity to the nearest kept example. It is submodular: the gain of
a pick only falls as others are made, so a gain computed some picks ago is an upper bound, and greedy choice, which
is within 1 - 1/e of the best possible, only needs to refresh the gain on top of a heap (lazy greedy).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.jit import compiled
from ..core.progress import task
from ..signals.neighbours import Neighbours, nearest
from .lazy_heap import heapify, sink
from .pool import Choice, Pool

__all__ = ["facility_location"]

EXACT = 10_000  # examples up to which every pair is compared
RECALL = 0.9  # of the neighbours that are searched for in clusters
TURN = 1_024  # picks between two steps of the progress bar
BLOCK = 8_192  # rows compared with what is kept at a time


@registry.selector(needs={"embeddings"}, paper="Mirzasoleiman et al. 2013", cost=registry.Cost("n^2", memory=13))
def facility_location(pool: Pool, size: int, *, seed: int = 0, k: int = 32) -> Choice:
    """Pick examples so that every example has a picked one nearby, greedily.

    Maximises the sum over examples of 1 - d / D, with d the distance to the nearest pick and D the mean distance of the
    k-th neighbour, over a graph of the k nearest neighbours: an example that none of its neighbours serves counts 0.
    Copies and dense regions need few picks, and unlike k-centre a single outlier gains little. The certificate gives
    the mean distance of an example from its nearest kept one (`distance`) and the share with a kept example among its
    neighbours (`served`); with neighbours searched for in clusters also their recall.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Seed of the clusters in which neighbours of more than 10,000 examples are searched for; no pick is random.
    k
        The number of neighbours per example.
    """
    near = min(checks.integer("k", "selector 'facility_location'", k, low=1), pool.n - 1)
    points = pool.points
    found = nearest(points, near, ids=pool.ids, seed=seed, exact=EXACT, recall=RECALL)
    reach = float(found.distances[:, -1].mean(dtype=np.float64)) if near else 0.0
    picked, best = _greedy(found, reach, size)
    certificate: dict[str, Any] = {"distance": _mean_distance(points, picked), "served": float((best > 0).mean())}
    if found.probes:
        certificate["recall"] = found.recall
    return Choice(picked, certificate=certificate)


def _greedy(found: Neighbours, reach: float, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The picks, and what each example is served with: its similarity to the nearest pick in the graph."""
    n, near = found.positions.shape
    worth = np.maximum(1.0 - found.distances.astype(np.float64) / reach, 0.0) if reach > 0 else np.ones((n, near))
    order = np.argsort(found.positions.ravel(), kind="stable")
    customers, worths = order // max(near, 1), worth.ravel()[order]
    ends = np.cumsum(np.bincount(found.positions.ravel(), minlength=n))
    starts = ends - np.diff(ends, prepend=0)
    best = np.zeros(n)
    gain = np.empty(n)
    _gains(starts, ends, customers, worths, best, gain)
    fresh, heap, picked = np.zeros(n, dtype=np.int64), np.arange(n), np.empty(size, dtype=np.int64)
    heapify(gain, heap)
    with task("facility location", size) as advance:
        for first in range(0, size, TURN):
            stop = min(first + TURN, size)
            _pick(starts, ends, customers, worths, best, gain, fresh, heap, picked, first, stop)
            advance(stop - first)
    return picked, best


def _mean_distance(points: NDArray[np.float64], picked: NDArray[np.int64]) -> float:
    """The mean distance from an example to its nearest pick, in single precision."""
    import faiss

    kept = faiss.IndexFlatL2(points.shape[1])
    kept.add(np.ascontiguousarray(points[picked], dtype=np.float32))
    total = 0.0
    for start in range(0, len(points), BLOCK):
        squares, _ = kept.search(np.ascontiguousarray(points[start : start + BLOCK], dtype=np.float32), 1)
        total += float(np.sqrt(np.maximum(squares, 0.0)).sum(dtype=np.float64))
    return total / len(points)


@compiled
def _gain(j: int, starts: Any, ends: Any, customers: Any, worths: Any, best: Any) -> Any:
    """What a pick adds: an example serves itself fully, and those that have it among their neighbours."""
    total = 1.0 - best[j]
    for at in range(starts[j], ends[j]):
        total += max(worths[at] - best[customers[at]], 0.0)
    return total


@compiled
def _gains(starts: Any, ends: Any, customers: Any, worths: Any, best: Any, gain: Any) -> None:
    for j in range(gain.size):
        gain[j] = _gain(j, starts, ends, customers, worths, best)


@compiled
def _pick(
    starts: Any, ends: Any, customers: Any, worths: Any, best: Any, gain: Any, fresh: Any, heap: Any, picked: Any,
    first: int, stop: int,
) -> None:  # fmt: skip
    """Make the picks from one number to another; a gain is refreshed when it reaches the top."""
    for step in range(first, stop):
        while fresh[heap[0]] < step:
            gain[heap[0]] = _gain(heap[0], starts, ends, customers, worths, best)
            fresh[heap[0]] = step
            sink(gain, heap, 0)
        chosen = heap[0]
        picked[step] = chosen
        for at in range(starts[chosen], ends[chosen]):
            best[customers[at]] = max(best[customers[at]], worths[at])
        best[chosen] = 1.0
        gain[chosen], fresh[chosen] = -1.0, picked.size
        sink(gain, heap, 0)
