"""Herding: keep examples whose mean follows the mean of all."""

from __future__ import annotations

import numpy as np

from ..core import registry
from ..core.progress import track
from .pool import Choice, Pool

__all__ = ["herding"]


@registry.selector(needs={"embeddings"}, paper="Welling 2009", cost=registry.Cost("n kept", memory=9))
def herding(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Repeatedly pick the example that brings the running mean closest to the mean of all.

    Minimises || mean - (sum of picked + x) / (t + 1) || over the x not yet picked. The certificate gives the remaining
    distance between the two means.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    """
    points = pool.points  # centred, so the mean to follow is 0 and || sum + x || should be small
    cost = np.square(points).sum(axis=1)
    total = np.zeros(points.shape[1])
    picked = np.empty(size, dtype=np.int64)
    for step in track(range(size), "herding"):
        best = int((cost + 2.0 * (points @ total)).argmin())
        picked[step] = best
        total += points[best]
        cost[best] = np.inf
    return Choice(picked, certificate={"mean_gap": float(np.sqrt(np.square(total / size).sum()))})
