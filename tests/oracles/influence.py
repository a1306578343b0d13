"""Slow, obvious twins of the influence room: loops over examples, and the annealed swaps in plain Python."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

MASK = (1 << 64) - 1


def splitmix(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def swaps(rows, order, slots, first, span, counter, moves, hot, ratio):
    """The moves one by one: the order afterwards, which moves were taken, and the length of the sum."""
    order = list(order)
    total = [math.fsum(rows[order[place]][k] for place in slots) for k in range(len(rows[0]))]
    length = math.sqrt(math.fsum(x * x for x in total))
    taken, temperature, word = [], hot, counter
    for _ in range(moves):
        word = (word + 0x9E3779B97F4A7C15) & MASK
        draw = splitmix(word)
        t = ((draw >> 32) * len(slots)) >> 32
        a, b = slots[t], first[t] + (((draw & 0xFFFFFFFF) * span[t]) >> 32)
        word = (word + 0x9E3779B97F4A7C15) & MASK
        u = ((splitmix(word) >> 11) + 1) / 2**53
        tried = [r + (y - x) for r, x, y in zip(total, rows[order[a]], rows[order[b]], strict=True)]
        new = math.sqrt(math.fsum(x * x for x in tried))
        accepted = new <= length - temperature * math.log(u)
        if accepted:
            total, length = tried, new
            order[a], order[b] = order[b], order[a]
        taken.append(accepted)
        temperature *= ratio
    return order, taken, length


def shortest_sum(rows, m):
    """The least length of a sum of m rows, by trying every set."""
    from itertools import combinations

    return min(float(np.linalg.norm(rows[list(chosen)].sum(axis=0))) for chosen in combinations(range(len(rows)), m))


def softmax_head(features, labels, damping, classes, weight=None):
    """Theta at the optimum of sum_i w_i L_i + damping / 2 |theta|^2; w_i = 1 / n unless given. By scipy, no Newton."""
    n, q = features.shape
    weight = np.full(n, 1 / n) if weight is None else weight

    def objective(flat):
        theta = flat.reshape(q, classes)
        loss, slope = 0.0, damping * theta
        for x, y, w in zip(features, labels, weight, strict=True):
            z = x @ theta
            top = z.max()
            raised = np.exp(z - top)
            loss += w * (math.log(raised.sum()) + top - z[y])
            error = raised / raised.sum()
            error[y] -= 1
            slope = slope + w * np.outer(x, error)
        return loss + damping / 2 * float(flat @ flat), slope.ravel()

    found = minimize(objective, np.zeros(q * classes), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    return found.x.reshape(q, classes)


def softmax_outputs(features, theta):
    z = features @ theta
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def hessian(features, outputs, damping, loss="softmax", weight=None):
    """The damped Hessian, example by example."""
    n, q = features.shape
    k = outputs.shape[1]
    total = damping * np.eye(q * k)
    for x, p, w in zip(features, outputs, np.full(n, 1 / n) if weight is None else weight, strict=True):
        inner = np.diag(p) - np.outer(p, p) if loss == "softmax" else np.eye(k)
        total += w * np.kron(np.outer(x, x), inner)
    return total


def influence_rows(features, outputs, labels, damping, theta, loss="softmax", regularised=True):
    """(1 / n) H^-1 (grad L_i + damping theta), from the definition; without damping theta as the paper prints it."""
    n = len(features)
    inverse = np.linalg.inv(hessian(features, outputs, damping, loss))
    rows = []
    for i in range(n):
        error = outputs[i].copy()
        if loss == "softmax":
            error[labels[i]] -= 1
        else:
            error -= labels[i]
        gradient = np.outer(features[i], error) + (damping * theta if regularised else 0)
        rows.append(inverse @ gradient.ravel() / n)
    return np.array(rows)


def ridge(features, targets, damping, divisor=None):
    """Theta of (1 / N) sum |x theta - y|^2 / 2 + damping / 2 |theta|^2 in closed form."""
    n = len(features) if divisor is None else divisor
    q = features.shape[1]
    return np.linalg.solve(features.T @ features / n + damping * np.eye(q), features.T @ targets / n)


def standardised(points):
    """Columns of mean 0 and deviation 1 (0 where nothing varies), and a column of ones."""
    points = np.asarray(points, dtype=float)
    columns = []
    for column in points.T:
        spread = math.sqrt(math.fsum((v - column.mean()) ** 2 for v in column) / len(column))
        columns.append((column - column.mean()) / spread if spread > 0 else column * 0)
    return np.column_stack([*columns, np.ones(len(points))])
