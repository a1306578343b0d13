"""The hard-margin student by other roads: non-negative least squares, and all subsets of active rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import nnls


def by_least_distance(rows):
    """min |w| subject to rows w >= 1: fit (0, ..., 0, 1) by a sum of (row_i, 1) with weights u >= 0.

    The rows with u > 0 are the active ones. None where the fit is perfect, which means that no w exists.
    """
    count, dimension = rows.shape
    system = np.vstack([rows.T, np.ones(count)])
    target = np.zeros(dimension + 1)
    target[-1] = 1.0
    u, distance = nnls(system, target, maxiter=100 * (count + dimension))
    if distance < 1e-9:
        return None
    # once the active rows are known, the equations on them are solved with more care than nnls takes
    active = rows[u > 1e-10 * u.max()]
    return np.linalg.lstsq(active, np.ones(len(active)), rcond=None)[0]


def by_all_subsets(rows):
    """The shortest feasible w among the least-norm solutions of rows_S w = 1 over all subsets S, or None."""
    best = None
    for size in range(1, min(rows.shape) + 1):
        for chosen in combinations(range(len(rows)), size):
            part = rows[list(chosen)]
            w = np.linalg.lstsq(part, np.ones(size), rcond=None)[0]
            if (rows @ w >= 1 - 1e-9).all() and (best is None or w @ w < best @ best):
                best = w
    return best
