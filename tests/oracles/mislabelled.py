"""Slow, obvious twin of the class probabilities that `scores.mislabelled` joins from networks and neighbours."""

from __future__ import annotations

import math

import numpy as np


def votes(points, labels, classes, count):
    """Share of each class among the nearest others, with half a vote for every class."""
    found = []
    for i in range(len(points)):
        others = sorted((float(np.sum((points[i] - points[j]) ** 2)), j) for j in range(len(points)) if j != i)
        row = [0.5] * classes
        for _, j in others[:count]:
            row[int(labels[j])] += 1
        found.append([value / sum(row) for value in row])
    return np.array(found)


def joined(parts, labels, steps=6_000, rate=1.0):
    """softmax(sum of w log p + b) by plain gradient descent on the mean loss of the labels plus .001 |b|^2."""
    logs = [np.log(np.clip(np.asarray(part, dtype=float), 1e-3, 1)) for part in parts]
    n, classes = logs[0].shape
    weights, bias = np.full(len(logs), 1 / len(logs)), np.zeros(classes)
    hit = np.eye(classes)[labels]
    for _ in range(steps):
        error = (_softmax(logs, weights, bias) - hit) / n
        weights = np.clip(weights - rate * np.array([(error * one).sum() for one in logs]), 0, 5)
        bias = np.clip(bias - rate * (error.sum(axis=0) + 0.002 * bias), -5, 5)
    return _softmax(logs, weights, bias)


def _softmax(logs, weights, bias):
    odds = sum(w * one for w, one in zip(weights, logs, strict=True)) + bias
    raised = np.exp(odds - odds.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def cost(classes, labels):
    """Mean loss of the labels."""
    return -sum(math.log(row[label]) for row, label in zip(classes, labels, strict=True)) / len(labels)


def moved(classes, labels, rates, powers):
    """Of these shares of moved labels and powers of probabilities, the pair that makes the labels likeliest."""
    n, k = len(labels), len(classes[0])
    spread = [[0.0] * k for _ in range(k)]
    for row, label in zip(classes, labels, strict=True):
        top = max(range(k), key=lambda one, row=row: row[one])
        spread[top][int(label)] += label != top
    for t in range(k):
        more = 0.1 * (sum(spread[t]) / (k - 1) + 1)
        spread[t] = [0.0 if t == j else spread[t][j] + more for j in range(k)]
        spread[t] = [one / sum(spread[t]) for one in spread[t]]

    def likelihood(rate, power):
        total = 0.0
        for row, label in zip(classes, labels, strict=True):
            sharp = [max(one, 1e-6) ** power for one in row]
            sharp = [one / sum(sharp) for one in sharp]
            other = sum(sharp[t] * spread[t][label] for t in range(k))
            total += math.log((1 - rate) * sharp[label] + rate * other)
        return total / n

    return max((likelihood(rate, power), rate, power) for rate in rates for power in powers)


def numbers(classes, labels):
    """What the share of wrong labels follows from after an ordinary training, counted one by one, as log odds."""
    n = len(labels)
    sure = sorted((max(row) for row in classes), reverse=True)
    rivals = [max(p for k, p in enumerate(row) if k != label) for row, label in zip(classes, labels, strict=True)]
    far = [
        math.log(rival / max(row[label], 1e-6)) > 2 for row, label, rival in zip(classes, labels, rivals, strict=True)
    ]
    shares = [
        1 - (sure[(n - 1) // 2] + sure[n // 2]) / 2,
        1 - sum(sure[: max(1, n // 5)]) / max(1, n // 5),
        sum(far) / n,
    ]
    return [math.log((share + 0.01) / (1.01 - share)) for share in shares]
