"""Guess how many moments are independent, from a few points, before any cell is cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .moment_table import MomentTable
from .recombination import sample_rank

__all__ = ["guesses"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SAMPLE = 4  # points per moment
_NEAR = 4.0  # times the median distance from the median: points beyond it are outliers


def guesses(points: Array, size: int, products: MomentTable) -> tuple[int, ...]:
    """Return guesses of the number of independent moments, the more careful first; `size` + 1 means more than `size`.

    A far outlier dominates the higher moments, and those of the other points vanish next to it: over all points few
    moments look independent, but within cells many more are. So a second guess leaves outliers out.
    """
    if products.moments > size and _rank(points, size + 1, products) > size:
        return (size + 1,)
    many = _SAMPLE * min(products.moments, size + 1)
    rank = _rank(points, many, products)
    if rank in (products.moments, min(many, len(points))):
        return (rank,)
    near = _near(points)
    if len(near) <= rank:  # too few for a better guess
        return (rank,)
    return tuple(dict.fromkeys((max(rank, _rank(points[near], many, products)), rank)))


def _rank(points: Array, many: int, products: MomentTable) -> int:
    n = len(points)
    return sample_rank(points[np.linspace(0, n - 1, min(n, many)).astype(np.int64)], products)


def _near(points: Array) -> Index:
    """Points that are not outliers in any coordinate; a coordinate where over half are equal has no outliers."""
    distance = np.abs(points - np.median(points, axis=0))
    usual = np.median(distance, axis=0)
    usual[usual == 0.0] = np.inf
    return np.flatnonzero((distance <= _NEAR * usual).all(axis=1))
