"""Moments by rational arithmetic, and Algorithm 2 of the paper word for word: slow, and nothing to get wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np


def products(dimensions, order, targets=0):
    """All products as tuples of coordinates: x^a up to the order, the same times each target, and squared targets."""
    plain = [p for k in range(order + 1) for p in combinations_with_replacement(range(dimensions), k)]
    names = range(dimensions, dimensions + targets)
    return plain + [(*p, y) for y in names for p in plain] + [(y, y) for y in names]


def exact_error(points, idx, w, order, weights=None, targets=None):
    """The largest relative error of any moment about the mean, every sum and product a fraction."""
    table = np.asarray(points, float)
    dimensions = table.shape[1]
    if targets is not None:
        table = np.hstack([table, np.asarray(targets, float).reshape(len(table), -1)])
    before = [Fraction(1)] * len(table) if weights is None else [Fraction(float(one)) for one in weights]
    after = dict(zip(np.asarray(idx).tolist(), (Fraction(float(one)) for one in w), strict=True))
    rows = [[Fraction(float(one)) for one in row] for row in table]
    total = sum(before)
    centre = [sum(c * row[j] for c, row in zip(before, rows, strict=True)) / total for j in range(table.shape[1])]
    rows = [[one - middle for one, middle in zip(row, centre, strict=True)] for row in rows]
    worst = 0.0
    for product in products(dimensions, order, table.shape[1] - dimensions):
        off, size = Fraction(0), Fraction(0)
        for i, row in enumerate(rows):
            term = Fraction(1)
            for j in product:
                term *= row[j]
            off += (after.get(i, Fraction(0)) - before[i]) * term
            size += before[i] * abs(term)
        if size:
            worst = max(worst, float(abs(off) / size))
        elif off:
            return float("inf")
    return worst


def float_error(points, idx, w, order, weights=None, targets=None):
    """The same in long double, for more points."""
    table = np.asarray(points, np.longdouble)
    dimensions = table.shape[1]
    if targets is not None:
        table = np.hstack([table, np.asarray(targets, np.longdouble).reshape(len(table), -1)])
    before = np.ones(len(table), np.longdouble) if weights is None else np.asarray(weights, np.longdouble)
    after = np.zeros(len(table), np.longdouble)
    after[idx] = w
    table = table - (before[:, None] * table).sum(axis=0) / before.sum()
    worst = 0.0
    for product in products(dimensions, order, table.shape[1] - dimensions):
        term = np.ones(len(table), np.longdouble)
        for j in product:
            term = term * table[:, j]
        off, size = abs(((after - before) * term).sum()), (before * abs(term)).sum()
        worst = max(worst, float(off / size) if size else float(off))
    return worst


def algorithm_2(points, weights, order):
    """The paper's Algorithm 2 on raw moments; for points near the origin, of size near 1."""
    A = np.array([[np.prod([row[j] for j in p]) for row in points] for p in products(points.shape[1], order)])
    c = np.array(weights, float)
    support = np.arange(len(c))
    while len(support) > len(A):
        v = np.linalg.svd(A[:, support])[2][-1]
        if not (v > 0).any():
            v = -v
        t = min(c[j] / v_j for j, v_j in zip(support, v, strict=True) if v_j > 0)
        gone = [j for j, v_j in zip(support, v, strict=True) if v_j > 0 and c[j] / v_j == t]
        c[support] -= t * v
        c[gone] = 0.0
        support = np.flatnonzero(c > 0)
    return support, c[support]


def nearest_weights(rows, target, start, most):
    """The weights in [0, most] nearest to `start` with rows @ weights = target, by a general solver."""
    from scipy.optimize import minimize

    found = minimize(
        lambda w: 0.5 * float(np.square(w - start).sum()),
        start,
        jac=lambda w: w - start,
        bounds=[(0.0, most)] * len(start),
        constraints={"type": "eq", "fun": lambda w: rows @ w - target, "jac": lambda w: rows},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.x if found.success else None


def bounded_corner(rows, weights, most):
    """Weights in [0, most] with the same rows @ weights at a corner: one singular value decomposition per step."""
    w = np.array(weights, dtype=float)
    while True:
        free = np.flatnonzero((w > 1e-12) & (w < most - 1e-12))
        _, sizes, axes = np.linalg.svd(rows[:, free])
        rank = int((sizes > 1e-10 * sizes[0]).sum()) if len(sizes) else 0
        if free.size <= rank:
            return w
        v = axes[-1]
        steps = [(most - w[i]) / x if x > 0 else w[i] / -x for i, x in zip(free, v, strict=True) if abs(x) > 1e-12]
        w[free] = np.clip(w[free] + min(steps) * v, 0.0, most)
        w[w < 1e-12] = 0.0
        w[w > most - 1e-12] = most
