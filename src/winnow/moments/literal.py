"""Algorithm 2 of the paper as it stands: one singular value decomposition for each point that goes.

Slow by a factor of a thousand, obvious, and a twin to hold `reducing` against. Only the basis is not the paper's:
moments are taken about the cell's mean and scaled, for raw ones lose all digits under an offset.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .counting import Table
from .reducing import terms

__all__ = ["reduce_cell"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def reduce_cell(
    points: Array, weights: Array, members: Index, products: Table, quota: int, spare: int
) -> tuple[Index, Array]:
    """Take points away one by one until `quota` are left, which must be no fewer than the moments."""
    del spare  # no groups here
    kept, c = members, weights[members]
    total = c.sum()
    columns = terms(points, weights, members, products).T
    while len(kept) > quota:
        v = np.linalg.svd(columns)[2][-1]
        if not (v > 0).any():
            v = -v
        steps = np.divide(c, v, out=np.full(len(c), np.inf), where=v > 0)
        first = int(np.argmin(steps))
        c = c - steps[first] * v
        c[first] = 0.0
        alive = c > 0
        kept, c, columns = kept[alive], c[alive], columns[:, alive]
    return kept, c * (total / c.sum())
