"""Features of a head: coordinates along the principal directions of the training examples, scaled by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["head_features_of", "reduced"]

Floats = NDArray[np.float64]

ROWS = 4_096  # rows whose products are summed at a time
FLAT = 1e-12  # a direction whose spread, relative to the widest, is smaller is rounding


def reduced(points: NDArray[Any], others: NDArray[Any] | None, most: int) -> tuple[Floats, Floats | None]:
    """Coordinates of training and other examples along the widest directions of the former, widest first.

    Parameters
    ----------
    points, others
        One row per example; None if there are no others.
    most
        The largest number of directions. Directions in which the training examples do not differ are left out.
    """
    parts = [slice(start, start + ROWS) for start in range(0, len(points), ROWS)]
    centre = points.mean(axis=0, dtype=np.float64)
    table = np.zeros((points.shape[1],) * 2)
    for part in parts:
        rows = points[part] - centre
        table += rows.T @ rows
    spread, axes = np.linalg.eigh(table)
    kept = axes[:, spread > FLAT * max(float(spread[-1]), np.finfo(float).tiny)][:, ::-1][:, :most]
    made = np.concatenate([(points[part] - centre) @ kept for part in parts])
    return made, None if others is None else (others - centre) @ kept


def head_features_of(points: Floats, others: Floats | None) -> tuple[Floats, Floats | None]:
    """Features divided by one number, so that a column of the training examples has variance 1 on average, and ones.

    One number for all columns keeps distances as they are: scaling each principal direction by itself would give noise
    the same weight as what the network has learned.
    """
    scale = float(np.sqrt(np.square(points).mean())) if points.size else 1.0

    def scaled(rows: Floats) -> Floats:
        return np.hstack([rows / (scale or 1.0), np.ones((len(rows), 1))])

    return scaled(points), None if others is None else scaled(others)
