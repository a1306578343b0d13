"""Weights between two bounds that meet linear conditions: as even as possible, or on as few points as possible.

Both functions are about conditions A w = b, one row per condition and one column per point.

`nearest_weights` keeps the points and finds the weights in [0, most] nearest to given ones. It is Newton's method on
the dual: w = clip(w0 + A^T y), and y solves A w(y) + softness y = b. A condition of softness 0 is met exactly; a larger
softness trades the condition against even weights, so that too few points still get the best weights there are.

`fewest_points` removes points, as recombination does, but stops a weight that reaches its upper bound. A corner of the
feasible weights has at most as many points strictly between the bounds as there are independent conditions; the others
are out or at the bound, where their total weight limits their number. Points are walked in groups first, so that each
round halves them at the cost of one factorisation (BLAS-3), and singly at the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ...core.jit import compiled

__all__ = ["fewest_points", "nearest_weights"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

STEPS = 80  # of Newton's method; 8 to 30 are usual
SETTLED = 1e-13  # largest error of a condition, relative to the sum of its absolute terms
BARELY = 1e-12  # of the diagonal: keeps the Newton matrix regular where conditions depend on each other
ROUNDING = 1e-12  # a pivot below this, relative to the largest, belongs to a condition that depends on others


def nearest_weights(
    rows: Array, target: Array, start: Array, most: Array | float = np.inf, softness: Array | float = 0.0
) -> tuple[Array, float]:
    """Return the weights in [0, most] nearest to `start` with rows @ weights = target, and the largest relative error.

    Parameters
    ----------
    rows, target
        Conditions x points, and one number per condition.
    start
        The weights to stay near, between the bounds.
    most
        The upper bound of every weight.
    softness
        Per condition: 0 must be met; s > 0 adds (condition's error)^2 / 2 s to the squared distance from `start`.
    """
    size = np.maximum(np.abs(rows) @ np.abs(start) + np.abs(target), np.finfo(float).tiny)
    a, b = rows / size[:, None], target / size
    soft = np.broadcast_to(np.asarray(softness, dtype=np.float64), b.shape) / size**2
    unit = float(np.square(a).sum(axis=1).mean())
    y, step = np.zeros(len(b)), 1.0

    def at(dual: Array) -> tuple[Array, Array, float]:
        """Weights, slope and value of the dual problem, which is to be minimised."""
        free = start + a.T @ dual
        w = np.clip(free, 0.0, most)
        value = float(w @ free - 0.5 * w @ w + 0.5 * soft @ (dual * dual) - b @ dual)
        return w, a @ w + soft * dual - b, value

    w, slope, value = at(y)
    for _ in range(STEPS):
        if np.abs(slope).max() <= SETTLED:
            break
        inner = (w > 0.0) & (w < most)
        matrix = a[:, inner] @ a[:, inner].T
        # far from the solution too few weights are free: then a gradient step's share keeps the matrix regular
        matrix[np.diag_indices_from(matrix)] += (
            soft + BARELY * unit + unit * min(1e-3, float(np.abs(slope).max())) * (1.0 - step)
        )
        unit_diagonal = 1.0 / np.sqrt(np.diagonal(matrix))  # conditions that hardly any point has are tiny before
        matrix *= np.outer(unit_diagonal, unit_diagonal)
        move = unit_diagonal * linalg.solve(matrix, -slope * unit_diagonal, assume_a="pos", check_finite=False)
        down = float(slope @ move)
        step = 1.0
        while step > 1e-8:
            tried = at(y + step * move)
            if tried[2] <= value + 1e-4 * step * down or np.abs(tried[1]).max() < 0.5 * np.abs(slope).max():
                break
            step /= 2
        else:
            break
        y = y + step * move
        w, slope, value = tried
    w = _polished(a, b, w, most, soft, y)
    error = np.abs(a @ w - b)
    hard = soft == 0.0
    return w, float(error[hard].max()) if hard.any() else 0.0


def _polished(a: Array, b: Array, w: Array, most: Array | float, soft: Array, y: Array) -> Array:
    """Remove the rounding that Newton's method leaves, by the shortest change of the weights between the bounds."""
    inner = (w > 0.0) & (w < most)
    if not inner.any() or (soft > 0).any():
        return w
    for _ in range(3):
        off = b - a @ w
        if np.abs(off).max() > 1e-6:  # not a solution: nothing to polish
            return w
        change = linalg.lstsq(a[:, inner], off, cond=1e-13, check_finite=False, lapack_driver="gelsy")[0]
        fresh = w.copy()
        fresh[inner] += change
        if fresh.min() < 0.0 or (fresh > most).any() or np.abs(a @ fresh - b).max() >= np.abs(off).max():
            return w
        w = fresh
    return w


def fewest_points(rows: Array, weights: Array, most: float, size: int, spare: int) -> tuple[Index, Array]:
    """Walk to weights in [0, most] with the same rows @ weights, on `size` points, or as near to that as corners allow.

    Parameters
    ----------
    rows
        Conditions x points.
    weights
        Weights that meet the conditions, above 0 and at most `most`.
    most
        The upper bound.
    size
        The number of points to end with.
    spare
        How many more groups than conditions a round makes.

    Returns
    -------
    kept, weights
        Positions in increasing order and their weights. There are more than `size` only if a corner has more.
    """
    w = weights.astype(np.float64).copy()
    conditions = len(rows)
    while True:
        alive = np.flatnonzero(w > 0.0)
        free = alive[w[alive] < most]
        if alive.size <= size or free.size <= 1:
            break
        single = free.size <= conditions + spare
        groups = np.arange(free.size) if single else np.arange(free.size) * (conditions + spare) // free.size
        count = int(groups[-1]) + 1
        terms = rows[:, free] * w[free]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        table = np.add.reduceat(terms, starts, axis=1)
        highest = most / np.maximum.reduceat(w[free], starts)
        vectors = _null_space(table)
        if not vectors.shape[1]:
            break
        share = np.ones(count)
        _walk(np.ascontiguousarray(vectors.T), share, highest, alive.size - size if single else count)
        fresh = w[free] * share[groups]
        fresh[share[groups] <= 0.0] = 0.0
        w[free] = np.where(fresh >= most * (1 - 1e-14), most, fresh)
        if single:
            break
    kept = np.flatnonzero(w > 0.0)
    return kept, w[kept]


def _null_space(table: Array) -> Array:
    """An orthonormal basis of the vectors that the table (conditions x groups) takes to 0, one per column."""
    size = np.abs(table).sum(axis=1)
    scaled = table[size > 0] / size[size > 0][:, None]
    q, r, _ = linalg.qr(scaled.T, mode="full", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(r))
    rank = int((pivots > ROUNDING * pivots[0]).sum()) if pivots.size else 0
    return np.asarray(q[:, rank:])


@compiled
def _walk(vectors: Array, share: Array, highest: Array, remove: int) -> int:
    """Use up null vectors, each until a share reaches 0 or its highest, until `remove` shares are 0; count those."""
    gone = 0
    count = share.size
    for k in range(len(vectors)):
        v = vectors[k]
        size = 0.0
        for i in range(count):
            size = max(size, abs(v[i]))
        if size == 0.0:
            continue
        floor = 1e-11 * size
        best = [np.inf, np.inf]  # the way along v, and against it
        hit = [-1, -1]
        for i in range(count):
            if abs(v[i]) > floor:
                down, up = share[i] / abs(v[i]), (highest[i] - share[i]) / abs(v[i])
                along = down if v[i] < 0 else up
                against = down if v[i] > 0 else up
                if along < best[0]:
                    best[0], hit[0] = along, i
                if against < best[1]:
                    best[1], hit[1] = against, i
        # prefer the way that removes a point to the one that stops it at its bound
        removes0, removes1 = v[hit[0]] < 0, v[hit[1]] > 0
        way = 0 if (removes0 and not removes1) or (removes0 == removes1 and best[0] <= best[1]) else 1
        step = best[way] if way == 0 else -best[way]
        j = hit[way]
        for i in range(count):
            share[i] = min(max(share[i] + step * v[i], 0.0), highest[i])
        emptied = removes0 if way == 0 else removes1
        share[j] = 0.0 if emptied else highest[j]
        if emptied:
            gone += 1
        for k2 in range(k + 1, len(vectors)):
            u = vectors[k2]
            factor = u[j] / v[j]
            if factor != 0.0:
                for i in range(count):
                    u[i] -= factor * v[i]
                u[j] = 0.0
        if gone >= remove:
            break
    return gone
