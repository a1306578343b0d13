"""Slow twins of recorded dynamics and averaged predictions, one example at a time from logged logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def probabilities(row: Sequence[float]) -> list[float]:
    """The softmax of one example's logits."""
    top = max(row)
    parts = [math.exp(value - top) for value in row]
    return [part / math.fsum(parts) for part in parts]


def dynamics(logits: Any, labels: Sequence[int]) -> dict[str, list[list[float]]]:
    """Each array of the dynamics, epochs x examples, from logits of epochs x examples x classes."""
    found: dict[str, list[list[float]]] = {
        name: [] for name in ("losses", "probabilities", "margins", "correct", "errors")
    }
    for epoch in logits:
        for rows in found.values():
            rows.append([])
        for each, label in zip(epoch, labels, strict=True):
            row = [float(value) for value in each]
            p = probabilities(row)
            others = [value for k, value in enumerate(row) if k != label]
            found["losses"][-1].append(-math.log(p[label]))
            found["probabilities"][-1].append(p[label])
            found["margins"][-1].append(row[label] - max(others))
            found["correct"][-1].append(float(row.index(max(row)) == label))
            found["errors"][-1].append(math.sqrt(sum((value - (k == label)) ** 2 for k, value in enumerate(p))))
    return found


def predictions(logits: Any, weights: Sequence[float]) -> list[list[float]]:
    """The mean of the softmax over epochs, each with its weight."""
    n, total = len(logits[0]), sum(weights)
    out = []
    for i in range(n):
        each = [probabilities([float(value) for value in epoch[i]]) for epoch in logits]
        columns = range(len(each[0]))
        out.append([sum(w * p[k] for w, p in zip(weights, each, strict=True)) / total for k in columns])
    return out
