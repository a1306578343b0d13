"""Medoids: the examples nearest to the centres of k-means, as many centres as examples are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.progress import track
from ..core.seeds import uniforms
from ..signals.clusters import centroids
from .balance import shares_of
from .pool import Choice, Pool

__all__ = ["medoids"]

BLOCK = 4_096  # rows compared with the centres at a time


@registry.selector(
    needs={"embeddings"}, paper="MacQueen 1967 (k-means)", by_group=True, cost=registry.Cost("n kept", memory=9)
)
def medoids(pool: Pool, size: int, *, seed: int = 0, rounds: int = 20) -> Choice:
    """Cluster each class into as many clusters as are kept of it, and keep the example nearest to each centre.

    Covers each class evenly, which helps if only a few examples per class are kept. Classes are treated separately, all
    of the same size if possible; without class labels all examples are one group. If fewer clusters have members, as
    among copies, the examples farthest from their centres fill up the size. The certificate gives the root mean square
    distance from an example to the nearest centre (`distance`), and the number filled up (`filled`).

    Parameters
    ----------
    pool
        Must have embeddings; raw inputs serve as such (`wn.embed(source)`).
    size
        How many to keep.
    seed
        Seed of the initial centres.
    rounds
        The number of rounds of k-means.
    """
    turns = checks.integer("rounds", "selector 'medoids'", rounds, low=1)
    points, kept, squares, filled, covered = pool.points, [], 0.0, 0, 0
    for _, where, count in track(shares_of(pool, size), "medoids"):
        if count:
            chosen, far, more = _nearest_to_centres(points[where], count, seed, pool.ids[where], turns)
            kept.append(where[chosen])
            squares, filled, covered = squares + far, filled + more, covered + where.size
    about = {"distance": float(np.sqrt(squares / covered)), "filled": filled}
    return Choice(np.concatenate(kept), certificate=about)


def _nearest_to_centres(
    points: NDArray[np.float64], count: int, seed: int, ids: NDArray[np.generic], rounds: int
) -> tuple[NDArray[np.int64], float, int]:
    """Positions of the medoids, the sum of squared distances to the nearest centre, and how many were filled up."""
    n = len(points)
    if count == n:
        return np.arange(n), 0.0, 0
    cluster, gap = _assigned(points, centroids(points, count, seed, ids, rounds))
    lots = uniforms(seed, "medoids", ids)
    order = np.lexsort((lots, gap, cluster))
    first = order[np.unique(cluster[order], return_index=True)[1]]
    others = np.setdiff1d(np.arange(n), first)
    more = others[np.lexsort((lots[others], -gap[others]))[: count - first.size]]
    return np.concatenate([first, more]), float(gap.sum()), more.size


def _assigned(
    points: NDArray[np.float64], centres: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest centre of each point, and the squared distance to it."""
    cluster, lengths = np.empty(len(points), dtype=np.int64), np.square(centres).sum(axis=1)
    for start in range(0, len(points), BLOCK):
        cluster[start : start + BLOCK] = (lengths - 2.0 * (points[start : start + BLOCK] @ centres.T)).argmin(axis=1)
    return cluster, np.square(points - centres[cluster]).sum(axis=1)
