"""What every function of this room is given, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..errors import InputError

__all__ = ["arrays"]

Array = NDArray[np.float64]


def arrays(
    owner: str, points: ArrayLike, weights: ArrayLike | None, targets: ArrayLike | None
) -> tuple[Array, Array | None, Array]:
    """Points (one row each), targets (one row each, or none) and weights (ones unless given)."""
    x = checks.array("points", owner, points, ndim=(1, 2), dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    y = None
    if targets is not None:
        y = checks.array("targets", owner, targets, ndim=(1, 2), rows=len(x), dtype=np.float64)
        y = y[:, None] if y.ndim == 1 else y
    if weights is None:
        return x, y, np.ones(len(x))
    w = checks.array("weights", owner, weights, ndim=1, rows=len(x), dtype=np.float64)
    if (w < 0).any():
        raise InputError(
            f"weights of {owner} must not be negative; {int((w < 0).sum())} are, the first at {int(np.argmax(w < 0))}."
        )
    if not 0 < w.sum() < np.inf:
        raise InputError(f"weights of {owner} must have a finite sum above zero; got {w.sum():g}.")
    return x, y, w
