"""The two-level shuffle of `Recipe(order="sharded")`: parts of the data in random order, some at a time, mixed.

The examples, sorted by id, are cut into parts of some thousand. An epoch takes the parts in a new random order, a few
at a time, and shuffles the examples of these. So it reads from few places of a file at a time, and still no two epochs
are alike. Data of up to `PART` x `MIXED` examples are shuffled completely.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MIXED", "PART", "sharded"]

PART = 4096  # examples that follow each other
MIXED = 16  # parts that are shuffled together


def sharded(positions: NDArray[np.int64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return an epoch's positions in the order of the two-level shuffle.

    Parameters
    ----------
    positions
        What the epoch visits, in any order; a position may occur several times.
    n
        The number of all examples.
    rng
        Draws the order.

    Examples
    --------
    >>> order = sharded(np.arange(100_000), 100_000, np.random.default_rng(0))
    >>> len(np.unique(order[:50_000] // PART))
    16
    """
    turn = rng.permutation(-(-n // PART)) // MIXED  # when each part has its turn
    return positions[np.argsort(turn[positions // PART] + rng.random(positions.size), kind="stable")]
