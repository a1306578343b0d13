"""Medoids: the examples nearest to the centres of k-means, as many centres as examples are kept.

Large groups are clustered part by part, so that time grows with the number of examples and not with its square. A group
is halved across the direction in which its examples differ most, each half again, and each part keeps its share. With
parts of a thousand examples or more, few centres would lie elsewhere if all were clustered at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts.quotas import in_proportion
from ..core import checks, registry
from ..core.progress import track
from ..core.seeds import uniforms
from ..signals.clusters import centroids
from .balance import shares_of
from .leading_directions import centred, coordinates, leading
from .pool import Choice, Pool

__all__ = ["medoids"]

BLOCK = 4_096  # rows compared with the centres at a time
PART, CENTRES = 1_024, 32  # a part has at least so many examples, and so many centres


@registry.selector(
    needs={"embeddings"}, paper="MacQueen 1967 (k-means)", by_group=True, cost=registry.Cost("n", memory=9)
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
    shares = [part for _, where, count in shares_of(pool, size) for part in _parts(points, pool.ids, where, count)]
    for where, count in track(shares, "medoids"):
        if count:
            chosen, far, more = _nearest_to_centres(points[where], count, seed, pool.ids[where], turns)
            kept.append(where[chosen])
            squares, filled, covered = squares + far, filled + more, covered + where.size
    about = {"distance": float(np.sqrt(squares / covered)), "filled": filled}
    return Choice(np.concatenate(kept), certificate=about)


def _parts(
    points: NDArray[np.float64], ids: NDArray[np.generic], where: NDArray[np.int64], count: int
) -> list[tuple[NDArray[np.int64], int]]:
    """Parts of a group with the number to keep of each: the group itself, or its halves' parts if it is large."""
    if where.size < 2 * PART or count < 2 * CENTRES:
        return [(where, count)]
    where = where[np.argsort(ids[where])]  # the same parts in whatever order examples are given
    given = centred(points[where])
    halves = np.array_split(where[np.argsort(coordinates(given, leading(given, 1))[:, 0], kind="stable")], 2)
    kept = in_proportion(np.array([half.size for half in halves]), count).tolist()
    return [part for half, share in zip(halves, kept, strict=True) for part in _parts(points, ids, half, share)]


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
