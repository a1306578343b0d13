"""Principal components and ridge regression from their definitions, all rows at once."""

from __future__ import annotations

import numpy as np


def full_pca(rows, dim, scale):
    """Components by singular value decompositions of the centred rows, or of the rows divided by their deviations."""
    x = np.asarray(rows, dtype=np.float64)
    x = x - x.mean(axis=0)
    spread = x.std(axis=0, ddof=1)
    divided = x / np.where(spread > 0, spread, 1.0)
    _, _, directions = np.linalg.svd(divided if scale == "correlation" else x, full_matrices=False)
    found = (divided if scale in ("standardize", "correlation") else x) @ directions[:dim].T
    return found / found.std(axis=0, ddof=1) if scale == "whiten" else found


def same_signs(found, wanted):
    """`wanted` with the sign of each column as in `found`."""
    return wanted * np.sign((found * wanted).sum(axis=0))


def ridge_distance(a, b, fitted, judged, strength):
    """1 - R^2 on the judged rows of ridge regression, by the normal equations of standardised columns."""
    mean, spread = a[fitted].mean(axis=0), a[fitted].std(axis=0)
    x, new = (a[fitted] - mean) / spread, (a[judged] - mean) / spread
    middle = b[fitted].mean(axis=0)
    penalty = strength * np.linalg.eigvalsh(x.T @ x)[-1]
    map_ = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (b[fitted] - middle))
    left = b[judged] - middle - new @ map_
    return np.square(left).sum() / np.square(b[judged] - middle).sum()


def leave_one_out(x, y, strength):
    """Mean squared error of ridge regression with a mean, each row predicted from all others; slow and literal."""
    penalty = strength * np.linalg.svd(x - x.mean(axis=0))[1][0] ** 2
    total = 0.0
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        mean, middle = x[rest].mean(axis=0), y[rest].mean(axis=0)
        z = x[rest] - mean
        map_ = np.linalg.solve(z.T @ z + penalty * np.eye(x.shape[1]), z.T @ (y[rest] - middle))
        total += np.square(y[i] - middle - (x[i] - mean) @ map_).sum()
    return total / len(x)
