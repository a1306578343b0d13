"""Least squares in two parameters within bounds, many problems side by side.

A damped Gauss-Newton iteration (Levenberg-Marquardt) in which every problem has a damping of its own and leaves the
batch once it is solved. A bootstrap is hundreds of small problems of one shape: solved one after the other by
`scipy.optimize.least_squares` they take several times as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Residuals", "polished"]

Array = NDArray[np.float64]
# (parameters (B, 2), which problems (B)) -> measured minus model (B, m), and slopes of the model (B, m, 2)
Residuals = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]

_STEPS = 200


def polished(residuals: Residuals, begin: Array, weights: Array, low: Array, high: Array) -> Array:
    """Parameters (B, 2) of a local least sum of `weights` times squared residuals, from those to begin with."""
    found = np.clip(begin, low, high)
    apart, slopes = residuals(found, np.arange(len(found)))
    cost = apart**2 @ weights
    damping = np.full(cost.size, 1e-3)
    live = np.arange(cost.size)
    for _ in range(_STEPS):
        trial = np.clip(
            found[live] + _step(found[live], damping[live], apart[live], slopes[live], weights, low, high), low, high
        )
        new_apart, new_slopes = residuals(trial, live)
        after = new_apart**2 @ weights
        better = after < cost[live]
        settled = better & (cost[live] - after <= 1e-14 * cost[live]) & (damping[live] < 1e-2)
        to = live[better]
        found[to], cost[to], apart[to], slopes[to] = trial[better], after[better], new_apart[better], new_slopes[better]
        damping[live] = np.where(better, np.maximum(damping[live] * 0.2, 1e-12), damping[live] * 6.0)
        live = live[~(settled | (damping[live] > 1e9) | (cost[live] < 1e-28))]
        if live.size == 0:
            break
    return found


def _step(found: Array, damping: Array, apart: Array, slopes: Array, weights: Array, low: Array, high: Array) -> Array:
    weighted = slopes * weights[:, None]
    downhill = np.einsum("bmk,bm->bk", weighted, apart)
    a, b, c = (np.einsum("bm,bm->b", weighted[:, :, i], slopes[:, :, j]) for i, j in ((0, 0), (0, 1), (1, 1)))
    # A parameter that leans on its bound stays there and must not distort the step of the other.
    held = ((found <= low) & (downhill < 0.0)) | ((found >= high) & (downhill > 0.0))
    downhill = np.where(held, 0.0, downhill)
    b = np.where(held.any(axis=1), 0.0, b)
    tiny = 1e-14 * (a + c) + 1e-200
    a, c = a * (1.0 + damping) + tiny, c * (1.0 + damping) + tiny
    scaled = b / np.sqrt(a * c)
    u, v = downhill[:, 0] / np.sqrt(a), downhill[:, 1] / np.sqrt(c)
    det = np.maximum(1.0 - scaled**2, 1e-14)
    return np.column_stack([(u - scaled * v) / det / np.sqrt(a), (v - scaled * u) / det / np.sqrt(c)])
