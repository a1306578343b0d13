"""Principal components of more rows than fit in memory: exact, accumulated block by block.

One pass for the mean, one for the covariance, one to project. Each block is converted to float64 separately, so memory
holds one block and a d x d matrix, however many rows there are. There are four forms; three are in the paper or its
code. "Divided" means that each coordinate of the rows is divided by its standard deviation before it is projected.

| scale | directions of | rows | components |
|---|---|---|---|
| `whiten` | the covariance | as they are | divided by their standard deviations (the authors' code) |
| `standardize` | the covariance | divided | as they are (Eq. 10 as printed) |
| `correlation` | the correlations | divided | as they are (the components of the divided rows) |
| None | the covariance | as they are | as they are (Algorithm 2) |

Variances are divided by n - 1. Directions are in order of falling variance (for `standardize`, that of the rows as they
are), and the largest entry of each is positive.
A constant coordinate is ignored, and a direction in which the rows do not differ gives zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

__all__ = ["SCALES", "Blocks", "Projection", "fit"]

Array = NDArray[np.float64]
Blocks = Callable[[], Iterable[NDArray[np.floating]]]  # called once per pass; rows in the same order each time

SCALES = ("whiten", "standardize", "correlation", None)
FLAT = 1e-12  # a variance below this, relative to the largest, is rounding
DEAD = 1e-7  # a spread below this, relative to the mean of the coordinate, is rounding of float32


@dataclass(frozen=True, eq=False)
class Projection:
    """A linear map onto principal components.

    Parameters
    ----------
    mean
        Mean of the rows, d numbers.
    directions
        One per column, d x dim, including the scaling.
    variances
        Variances of the components before whitening, in the order of the directions; 0 where rows do not differ.
    kept
        Share of the total variance in these components.
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
        """The number of components in which rows differ."""
        return int((self.variances > 0).sum())


def fit(blocks: Blocks, dim: int, scale: str | None) -> Projection:
    """Find the `dim` widest components of the rows in all blocks together; there must be at least two rows."""
    mean, covariance = _moments(blocks)
    times = np.ones(mean.size)
    divided = covariance
    if scale in ("standardize", "correlation"):
        spread = np.sqrt(np.diag(covariance))
        times = np.divide(1.0, spread, out=np.zeros(mean.size), where=spread > DEAD * np.abs(mean))
        divided = covariance * np.outer(times, times)  # the correlations
    total = float(np.trace(divided))
    variances, directions = _widest(divided if scale == "correlation" else covariance, dim)
    if scale == "standardize":
        variances = np.where(variances > 0, ((divided @ directions) * directions).sum(axis=0), 0.0)
    factor = (variances > 0).astype(np.float64)
    if scale == "whiten":
        factor = np.divide(1.0, np.sqrt(variances), out=factor, where=variances > 0)
    kept = float(variances.sum()) / total if total > 0 else 0.0
    return Projection(mean, times[:, None] * directions * factor, variances, min(kept, 1.0))


def _moments(blocks: Blocks) -> tuple[Array, Array]:
    """Mean and covariance, in two passes: centring first avoids losing digits to a large mean."""
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
    """The largest eigenvalues, zero where they are rounding, and their vectors with a fixed choice of sign."""
    d = len(covariance)
    values, vectors = eigh(covariance, subset_by_index=(d - dim, d - 1), check_finite=False)
    values, vectors = values[::-1].copy(), vectors[:, ::-1].copy()
    values[values <= FLAT * values[0]] = 0.0
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[largest, np.arange(dim)] < 0, -1.0, 1.0)
    return values, vectors
