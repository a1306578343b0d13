"""Checks of the arguments that every function of this package takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError

__all__ = ["arrays"]

Array = NDArray[np.float64]

_NOTHING = 1e-290  # relative to the largest weight: products with smaller weights run out of digits


def arrays(
    owner: str, points: ArrayLike, weights: ArrayLike | None, targets: ArrayLike | None
) -> tuple[Array, Array | None, Array]:
    """Return points (one row each), targets (one row each, or None) and weights (ones if not given)."""
    x = _reals("points", owner, points, ndim=(1, 2))
    x = x[:, None] if x.ndim == 1 else x
    y = None
    if targets is not None:
        y = _reals("targets", owner, targets, ndim=(1, 2), rows=len(x))
        y = y[:, None] if y.ndim == 1 else y
    if weights is None:
        return x, y, np.ones(len(x))
    w = _reals("weights", owner, weights, ndim=(1,), rows=len(x))
    if (w < 0).any():
        raise InputError(
            f"weights of {owner} must not be negative; {int((w < 0).sum())} are, the first at {int(np.argmax(w < 0))}."
        )
    if not 0 < w.sum() < np.inf:
        raise InputError(f"weights of {owner} must have a finite sum above zero; got {w.sum():g}.")
    return x, y, np.where(w < _NOTHING * w.max(), 0.0, w)


def _reals(name: str, owner: str, value: ArrayLike, *, ndim: tuple[int, ...], rows: int | None = None) -> Array:
    """Return an array of floats; complex numbers, which numpy would cut to their real parts, raise an error."""
    if np.iscomplexobj(value):
        raise InputError(f"{name} of {owner} must be real numbers; got complex ones.")
    return checks.array(name, owner, value, ndim=ndim, rows=rows, dtype=np.float64)
