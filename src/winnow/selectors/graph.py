"""Graph (D2): difficulty spread over a neighbour graph, then picks that discount their neighbours."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.progress import track
from ..signals.neighbours import nearest
from .pool import Choice, Pool

__all__ = ["graph"]


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
    discount always lowers them. A heap that keeps stale entries makes this O(n k log n).

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
    neighbours = nearest(points, near, ids=pool.ids).positions
    weights = np.empty(neighbours.shape)
    for column in range(near):
        weights[:, column] = np.exp(-rate * np.square(points - points[neighbours[:, column]]).sum(axis=1))
    scores = pool.difficulty - min(float(pool.difficulty.min()), 0.0)
    spread = scores + (weights * scores[neighbours]).sum(axis=1)
    picked = _greedy(spread, neighbours, weights, size)
    return Choice(picked, certificate={"mean_weight": float(weights.mean()) if near else 0.0})


def _greedy(
    values: NDArray[np.float64], neighbours: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> NDArray[np.int64]:
    current = values.tolist()
    heap = [(-value, position) for position, value in enumerate(current)]
    heapq.heapify(heap)
    there = [True] * len(current)
    picked = np.empty(size, dtype=np.int64)
    for step in track(range(size), "graph"):
        while True:
            value, best = heapq.heappop(heap)
            if there[best] and -value == current[best]:  # otherwise the entry is from before a discount
                break
        picked[step] = best
        there[best] = False
        worth = max(current[best], 0.0)
        for other, weight in zip(neighbours[best].tolist(), weights[best].tolist(), strict=True):
            if there[other] and worth * weight > 0:
                current[other] -= worth * weight
                heapq.heappush(heap, (-current[other], other))
    return picked
