"""Graph (D2): difficulty spread over a neighbour graph, then picks that discount their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.jit import compiled
from ..core.progress import task
from ..signals.neighbours import nearest
from .lazy_heap import heapify, sink
from .pool import Choice, Pool

__all__ = ["graph"]

BLOCK = 8_192  # rows subtracted at a time
TURN = 4_096  # picks between two steps of the progress bar


@registry.selector(
    needs={"scores", "embeddings"},
    paper="Maharana et al. 2024 (D2)",
    default_score="prototype",
    cost=registry.Cost("n^2", memory=9),
)
def graph(pool: Pool, size: int, *, seed: int = 0, k: int = 5, gamma: float = 0.1) -> Choice:
    """Pass difficulty along a neighbour graph, then pick greedily, discounting the neighbours of each pick.

    With N(i) the k nearest neighbours of i in embedding space, at distances d, and w_ij = exp(-gamma d_ij^2):
    u_i = s_i + sum over j in N(i) of w_ij s_j; then, repeatedly, the largest u_i is picked and every j in
    N(i) not yet picked loses w_ij max(u_i, 0). Scores with negative values are first shifted to start at 0, so that a
    discount always lowers them. A heap whose entries are put right when they reach the top makes this O(n k log n).
    Neighbours are exact up to 50,000 examples; above, they are searched for in clusters, as many as a sample shows to
    be needed, and the certificate gives the recall, with 99 % confidence.

    Parameters
    ----------
    pool
        Must have scores and embeddings.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    k
        The number of neighbours per example.
    gamma
        How fast the weight falls with the squared distance, in the embeddings' own units. The certificate gives the
        mean weight: near 0, neighbours hardly count; near 1, distances hardly do.
    """
    owner = "selector 'graph'"
    near = min(checks.integer("k", owner, k, low=1), pool.n - 1)
    rate = checks.number("gamma", owner, gamma, low=0.0)
    points = pool.points
    found = nearest(points, near, ids=pool.ids)
    neighbours = found.positions
    weights = np.empty(neighbours.shape)
    for start in range(0, pool.n, BLOCK):
        part = slice(start, start + BLOCK)
        for column in range(near):
            apart = points[part] - points[neighbours[part, column]]
            weights[part, column] = np.exp(-rate * np.square(apart).sum(axis=1))
    scores = pool.difficulty - min(float(pool.difficulty.min()), 0.0)
    spread = scores + (weights * scores[neighbours]).sum(axis=1)
    picked = _greedy(spread, neighbours, weights, size)
    certificate = {"mean_weight": float(weights.mean()) if near else 0.0}
    return Choice(picked, certificate=certificate if found.probes == 0 else {**certificate, "recall": found.recall})


def _greedy(
    values: NDArray[np.float64], neighbours: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> NDArray[np.int64]:
    current, key, heap = values.copy(), values.copy(), np.arange(values.size)
    picked = np.empty(size, dtype=np.int64)
    heapify(key, heap)
    with task("graph", size) as advance:
        for first in range(0, size, TURN):
            stop = min(first + TURN, size)
            _pick(current, key, heap, neighbours, weights, picked, first, stop)
            advance(stop - first)
    return picked


@compiled
def _pick(current: Any, key: Any, heap: Any, neighbours: Any, weights: Any, picked: Any, first: int, stop: int) -> None:
    """Make the picks from one number to another; a key above the current value is from before a discount."""
    for step in range(first, stop):
        while key[heap[0]] != current[heap[0]]:
            key[heap[0]] = current[heap[0]]
            sink(key, heap, 0)
        best = heap[0]
        picked[step] = best
        worth = max(current[best], 0.0)
        current[best] = key[best] = -np.inf
        sink(key, heap, 0)
        for place in range(neighbours.shape[1]):
            other = neighbours[best, place]
            if current[other] > -np.inf:
                current[other] -= worth * weights[best, place]
