"""How many moments are independent, guessed from a few points before any cell is cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .moment_table import MomentTable
from .recombination import sample_rank

__all__ = ["guesses"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SAMPLE = 4  # points a moment
_NEAR = 4.0  # times the median distance from the median: beyond it lie outliers


def guesses(points: Array, size: int, products: MomentTable) -> tuple[int, ...]:
    """The number of independent moments, the more careful guess first; `size` + 1 stands for any more than `size`.

    A far outlier carries all of the higher moments, beside which those of the other points vanish: among all points few
    moments look independent, and in the cells many more are. So a second guess leaves outliers out.
    """
    if products.moments > size and _rank(points, size + 1, products) > size:
        return (size + 1,)
    many = _SAMPLE * min(products.moments, size + 1)
    rank = _rank(points, many, products)
    if rank in (products.moments, min(many, len(points))):
        return (rank,)
    near = _near(points)
    if len(near) <= rank:  # too few to say more
        return (rank,)
    return tuple(dict.fromkeys((max(rank, _rank(points[near], many, products)), rank)))


def _rank(points: Array, many: int, products: MomentTable) -> int:
    n = len(points)
    return sample_rank(points[np.linspace(0, n - 1, min(n, many)).astype(np.int64)], products)


def _near(points: Array) -> Index:
    """Points that are no outlier in any coordinate; a coordinate of which over half are equal has none."""
    distance = np.abs(points - np.median(points, axis=0))
    usual = np.median(distance, axis=0)
    usual[usual == 0.0] = np.inf
    return np.flatnonzero((distance <= _NEAR * usual).all(axis=1))
