"""The loss of soft targets, one example and one class at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

Row = Sequence[float]


def classification(logits: Sequence[Row], labels: Sequence[int], soft: Sequence[Row], weight: float) -> list[float]:
    """Per example: weight x cross-entropy of the soft row + (1 - weight) x cross-entropy of the label."""
    losses = []
    for row, label, targets in zip(logits, labels, soft, strict=True):
        total = math.fsum(math.exp(value) for value in row)
        logs = [math.log(math.exp(value) / total) for value in row]
        towards_soft = -math.fsum(p * q for p, q in zip(targets, logs, strict=True))
        losses.append(weight * towards_soft + (1 - weight) * -logs[label])
    return losses


def regression(outputs: Sequence[Row], labels: Sequence[Row], soft: Sequence[Row], weight: float) -> list[float]:
    """Per example: the same with squared errors, averaged over the outputs."""
    losses = []
    for row, truth, targets in zip(outputs, labels, soft, strict=True):
        towards_soft = math.fsum((a - b) ** 2 for a, b in zip(row, targets, strict=True)) / len(row)
        towards_label = math.fsum((a - b) ** 2 for a, b in zip(row, truth, strict=True)) / len(row)
        losses.append(weight * towards_soft + (1 - weight) * towards_label)
    return losses
