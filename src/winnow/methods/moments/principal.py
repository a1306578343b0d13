"""Project points on their widest directions, when only a few of many dimensions can be matched."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLAT", "principal"]

Array = NDArray[np.float64]

FLAT = 1e-12  # a direction whose spread, relative to the widest, is smaller is rounding


def principal(points: Array, dims: int | None = None, weights: Array | None = None) -> tuple[Array, float]:
    """Return coordinates along the principal directions, widest first, and the share of the spread in them.

    Spread is the weighted mean squared distance from the mean. Directions in which the points do not differ are left
    out. Signs are such that a direction's largest entry is positive, so that equal points give equal coordinates.

    Parameters
    ----------
    points
        One per row.
    dims
        The maximum number of directions; None takes all in which the points differ.
    weights
        Weights of the points; equal if None.
    """
    share = np.full(len(points), 1.0 / len(points)) if weights is None else weights / weights.sum()
    centred = points - share @ points
    scaled = np.sqrt(share)[:, None] * centred
    _, spread, directions = np.linalg.svd(_squared(scaled), full_matrices=False)
    rank = max(1, int((spread > FLAT * spread[0]).sum()))
    take = rank if dims is None else min(dims, rank)
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(len(directions)), largest])[:, None]
    total = float(np.square(spread).sum())
    kept = 1.0 if take == rank or total == 0.0 else float(np.square(spread[:take]).sum()) / total
    return centred @ directions[:take].T, kept


def _squared(rows: Array) -> Array:
    """Reduce to few rows with the same directions and spread: the triangle of a QR factorisation."""
    return rows if len(rows) <= rows.shape[1] else np.asarray(np.linalg.qr(rows, mode="r"))
