"""Principal components of more rows than fit in memory: exact, accumulated block by block.

One pass for the mean, one for the covariance, one to project. A block is turned into float64 by itself, so that what is
held is one block and a d x d matrix, however many rows there are. Three forms, as the paper and its code have them:

| scale | components of | projected |
|---|---|---|
| `whiten` | the covariance | each component divided by its standard deviation (the authors' code) |
| `standardize` | the correlations: coordinates divided by their standard deviations first (Eq. 10) | as they are |
| None | the covariance | as they are (Algorithm 2) |

Variances are divided by n - 1. Directions are in order of falling variance, and the largest entry of each is positive.
A coordinate that never changes counts for nothing, and a direction in which the rows do not differ gives zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

__all__ = ["SCALES", "Blocks", "Projection", "fit"]

Array = NDArray[np.float64]
Blocks = Callable[[], Iterable[NDArray[np.floating]]]  # called once a pass; rows in the same order each time

SCALES = ("whiten", "standardize", None)
FLAT = 1e-12  # of the largest variance, below which the variance along a direction is rounding
DEAD = 1e-7  # of its mean, below which the spread of a coordinate is the rounding of float32


@dataclass(frozen=True, eq=False)
class Projection:
    """A linear map onto principal components.

    Parameters
    ----------
    mean
        Of the rows, d numbers.
    directions
        One a column, d x dim, with the scaling in them.
    variances
        Of the components before whitening, largest first.
    kept
        Share of the total variance that lies in these components.
    """

    mean: Array
    directions: Array
    variances: Array
    kept: float

    def __call__(self, block: NDArray[np.floating]) -> Array:
        """Components of a block of rows, in float64."""
        return (block.astype(np.float64) - self.mean) @ self.directions

    @property
    def rank(self) -> int:
        """In how many of the components rows differ."""
        return int((self.variances > 0).sum())


def fit(blocks: Blocks, dim: int, scale: str | None) -> Projection:
    """The `dim` widest components of the rows in all blocks together; there are at least two rows."""
    mean, covariance = _moments(blocks)
    spread = np.sqrt(np.diag(covariance))
    times = np.ones(mean.size)
    if scale == "standardize":
        alive = spread > DEAD * np.abs(mean)
        times = np.divide(1.0, spread, out=np.zeros(mean.size), where=alive)
        covariance *= times[:, None]
        covariance *= times
    total = float(np.trace(covariance))
    variances, directions = _widest(covariance, dim)
    factor = (variances > 0).astype(np.float64)
    if scale == "whiten":
        factor = np.divide(1.0, np.sqrt(variances), out=factor, where=variances > 0)
    kept = float(variances.sum()) / total if total > 0 else 0.0
    return Projection(mean, times[:, None] * directions * factor, variances, min(kept, 1.0))


def _moments(blocks: Blocks) -> tuple[Array, Array]:
    """Mean and covariance, in two passes: centring first loses no digits to a large mean."""
    count, total = 0, np.zeros(1)
    for block in blocks():
        count += len(block)
        total = total + block.sum(axis=0, dtype=np.float64)
    mean = total / count
    covariance = np.zeros((mean.size, mean.size))
    for block in blocks():
        centred = block.astype(np.float64) - mean
        covariance += centred.T @ centred
    return mean, covariance / (count - 1)


def _widest(covariance: Array, dim: int) -> tuple[Array, Array]:
    """The largest eigenvalues, zero where they are rounding, and their vectors with signs made the same."""
    d = len(covariance)
    values, vectors = eigh(covariance, subset_by_index=(d - dim, d - 1), overwrite_a=True, check_finite=False)
    values, vectors = values[::-1].copy(), vectors[:, ::-1].copy()
    values[values <= FLAT * values[0]] = 0.0
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[largest, np.arange(dim)] < 0, -1.0, 1.0)
    return values, vectors
