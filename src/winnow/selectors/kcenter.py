"""k-centre: leave no example far from a kept one."""

from __future__ import annotations

import numpy as np

from ..core import registry
from ..core.progress import track
from .pool import Choice, Pool

__all__ = ["kcenter"]


@registry.selector(needs={"embeddings"}, paper="Sener and Savarese 2018", cost=registry.Cost("n kept", memory=9))
def kcenter(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Pick the example farthest from all picked so far, starting with the one nearest to the mean.

    Greedy farthest first: the largest distance from any example to its nearest kept one, the `radius` of the
    certificate, is within a factor of two of the best possible for this size.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    """
    points = pool.points
    squares = np.square(points).sum(axis=1)
    picked = np.empty(size, dtype=np.int64)
    picked[0] = int(squares.argmin())  # the points are centred
    gap = np.full(pool.n, np.inf)
    for step in track(range(size), "kcenter"):
        if step:
            picked[step] = int(gap.argmax())
        last = picked[step]
        distance = squares + squares[last] - 2.0 * (points @ points[last])
        np.minimum(gap, np.maximum(distance, 0.0), out=gap)
        gap[last] = -1.0  # never picked again, however many copies there are
    return Choice(picked, certificate={"radius": float(np.sqrt(max(gap.max(), 0.0)))})
