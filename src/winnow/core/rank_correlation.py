"""Spearman's rank correlation, of examples or of many resamples of them.

Written here because every prune reports one, and importing `scipy.stats` takes longer than computing it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn_rank_correlations", "rank_correlation"]

Array = NDArray[np.float64]


def rank_correlation(a: NDArray[np.floating[Any]], b: NDArray[np.floating[Any]]) -> float:
    """Return the Spearman correlation; ties share their mean rank; 0 if either input is constant."""
    x, y = (_mean_ranks(values) for values in (a, b))
    for ranks in (x, y):
        ranks -= ranks.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip(x @ y / spread, -1.0, 1.0)) if spread > 0 else 0.0


def _mean_ranks(values: NDArray[np.floating[Any]]) -> Array:
    """Return the ranks, from 0; ties share their mean rank. There may be very many examples, so little is held."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ties = ordered[1:] == ordered[:-1]
    del ordered
    ranks = np.empty(values.size)
    if not ties.any():
        ranks[order] = np.arange(values.size)
        return ranks
    starts = np.flatnonzero(np.concatenate([[True], ~ties]))
    counts = np.diff(starts, append=values.size)
    ranks[order] = np.repeat(starts + (counts - 1) / 2, counts)
    return ranks


def drawn_rank_correlations(a: NDArray[np.floating[Any]], b: NDArray[np.floating[Any]], counts: Array) -> Array:
    """Return the Spearman correlation for each resample of the examples; 0 if either input is constant.

    Parameters
    ----------
    a, b
        One number per example each.
    counts
        How often each example is drawn: resamples x examples.
    """
    ranks = [_ranks(values, counts) for values in (a, b)]
    total = counts.sum(1, keepdims=True)
    x, y = (rank - (counts * rank).sum(1, keepdims=True) / total for rank in ranks)
    spread = np.sqrt((counts * x * x).sum(1) * (counts * y * y).sum(1))
    together = (counts * x * y).sum(1)
    found = np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _ranks(values: NDArray[np.floating[Any]], counts: Array) -> Array:
    """Return the ranks in each resample; ties share their mean rank."""
    _, place = np.unique(values, return_inverse=True)
    grouped = np.zeros((counts.shape[0], int(place.max()) + 1))
    np.add.at(grouped.T, place, counts.T)
    return np.asarray((np.cumsum(grouped, 1) - (grouped - 1) / 2)[:, place])
