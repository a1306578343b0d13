"""Slow twins of the kernels of the data check: loops over pairs, shifts, columns."""

from __future__ import annotations

import numpy as np


def nearest(points, k, queries=None):
    """Sort all distances; a row does not find itself."""
    asked = points if queries is None else queries
    positions, distances = [], []
    for place, row in enumerate(asked):
        far = [
            (float(np.sqrt(np.sum((np.float64(row) - np.float64(other)) ** 2))), j)
            for j, other in enumerate(points)
            if queries is not None or j != place
        ]
        best = sorted(far)[:k]
        positions.append([j for _, j in best])
        distances.append([d for d, _ in best])
    return np.array(positions), np.array(distances)


def correlation(a, b, reach):
    """The largest correlation of two grey images over the part they share, over all shifts within reach."""
    height, width = a.shape
    best = -1.0
    for down in range(-reach, reach + 1):
        for along in range(-reach, reach + 1):
            left = a[max(down, 0) : height + min(down, 0), max(along, 0) : width + min(along, 0)]
            right = b[max(-down, 0) : height + min(-down, 0), max(-along, 0) : width + min(-along, 0)]
            best = max(best, float(np.corrcoef(left.ravel(), right.ravel())[0, 1]))
    return best


def expected_repeats(rows):
    """How many equal rows each row would have by chance, and has."""
    n, width = rows.shape
    equal = [sum(np.array_equal(rows[i], rows[j]) for j in range(n) if j != i) for i in range(n)]
    expected = [0.0] * n
    for column in range(width):
        agree = sum(rows[i, column] == rows[j, column] for i in range(n) for j in range(n) if i != j)
        q = agree / (n * (n - 1))
        if q in (0, 1):
            continue
        rest = np.delete(rows, column, axis=1)
        for i in range(n):
            others = sum(
                np.array_equal(rest[i], rest[j]) and rows[i, column] != rows[j, column] for j in range(n) if j != i
            )
            expected[i] = max(expected[i], others * q / (1 - q))
    return np.array(expected), np.array(equal)


def components(n, edges):
    """The smallest number reached from each number."""
    label = list(range(n))
    changed = True
    while changed:
        changed = False
        for i, j in edges:
            low = min(label[i], label[j])
            if (label[i], label[j]) != (low, low):
                label[i] = label[j] = low
                changed = True
    return label


def distribution_gap(a, b):
    return max(abs(np.mean(np.asarray(a) <= v) - np.mean(np.asarray(b) <= v)) for v in [*a, *b])


def far_out(points, k):
    positions, distances = nearest(points, k)
    own = distances.mean(axis=1)
    return np.array([own[i] / np.median([own[j] for j in positions[i]]) for i in range(len(points))])
