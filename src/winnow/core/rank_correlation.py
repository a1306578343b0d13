"""Spearman's rank correlation, of examples as they are or drawn anew many times.

Written here because a prune reports one: `scipy.stats` takes longer to import than all of it takes to compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn_rank_correlations", "rank_correlation"]

Array = NDArray[np.float64]


def rank_correlation(a: NDArray[np.floating[Any]], b: NDArray[np.floating[Any]]) -> float:
    """Spearman correlation, ties sharing their mean rank; 0 where either does not vary."""
    return float(drawn_rank_correlations(a, b, np.ones((1, a.size)))[0])


def drawn_rank_correlations(a: NDArray[np.floating[Any]], b: NDArray[np.floating[Any]], counts: Array) -> Array:
    """Spearman correlation under each drawing of the examples; 0 where either does not vary.

    Parameters
    ----------
    a, b
        Two numbers per example.
    counts
        How often each example is drawn: drawings x examples.
    """
    ranks = [_ranks(values, counts) for values in (a, b)]
    total = counts.sum(1, keepdims=True)
    x, y = (rank - (counts * rank).sum(1, keepdims=True) / total for rank in ranks)
    spread = np.sqrt((counts * x * x).sum(1) * (counts * y * y).sum(1))
    together = (counts * x * y).sum(1)
    found = np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _ranks(values: NDArray[np.floating[Any]], counts: Array) -> Array:
    """Ranks under each drawing, ties sharing their mean rank."""
    _, place = np.unique(values, return_inverse=True)
    grouped = np.zeros((counts.shape[0], int(place.max()) + 1))
    np.add.at(grouped.T, place, counts.T)
    return np.asarray((np.cumsum(grouped, 1) - (grouped - 1) / 2)[:, place])
