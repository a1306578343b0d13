"""Class centre: keep the most typical examples, those nearest to the mean of their class."""

from __future__ import annotations

import numpy as np

from ..core import registry
from .pool import Choice, Pool

__all__ = ["class_centre"]


@registry.selector(
    needs={"embeddings"},
    paper="the herding baseline of Yang et al. 2023",
    tasks=("classification",),
    nested=True,
    cost=registry.Cost("n", memory=9),
)
def class_centre(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Keep the examples nearest to the mean of their class.

    Keeps the smallest || x_i - mean of its class ||. Papers on pruning call this herding and compare with it; the
    selector `herding` follows the mean with the whole subset instead, as Welling proposed. The most typical examples
    resemble each other, so expect less than from random ones where only a few are kept.

    Parameters
    ----------
    pool
        Must have embeddings and class labels.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    """
    points, labels = pool.points, np.asarray(pool.labels)
    distance = np.empty(pool.n)
    for number in np.unique(labels):
        members = np.flatnonzero(labels == number)
        inside = points[members]
        distance[members] = np.sqrt(np.square(inside - inside.mean(axis=0)).sum(axis=1))
    near = np.round(distance / (float(distance.max()) or 1.0), 12)  # rounding must not decide between equals
    kept = np.argsort(near, kind="stable")[:size]
    return Choice(kept, certificate={"mean_distance": float(distance[kept].mean())})
