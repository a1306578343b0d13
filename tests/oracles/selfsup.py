"""The losses of the eight self-supervised methods as their papers write them: one example, one pair at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def unit(rows: Rows) -> Rows:
    return np.array([row / math.sqrt(sum(value * value for value in row)) for row in rows])


def log_softmax(row: Rows) -> Rows:
    top = max(row)
    return row - (top + math.log(sum(math.exp(value - top) for value in row)))


def predicted_across(predictions: Sequence[Rows], aims: Sequence[Rows]) -> float:
    """BYOL and SimSiam: minus the cosine between what one view predicts and what the other view gives."""
    total = 0.0
    for view, other in ((0, 1), (1, 0)):
        for p, z in zip(unit(predictions[view]), unit(aims[other]), strict=True):
            total -= float(p @ z) / len(predictions[view])
    return total / 2


def simclr(first: Rows, second: Rows, temperature: float = 0.5) -> float:
    """Every view finds its partner among all other views of the batch."""
    rows, n = unit(np.concatenate([first, second])), len(first)
    losses = []
    for i in range(2 * n):
        partner = (i + n) % (2 * n)
        others = [j for j in range(2 * n) if j != i]
        scores = np.array([rows[i] @ rows[j] / temperature for j in others])
        losses.append(-log_softmax(scores)[others.index(partner)])
    return float(np.mean(losses))


def moco(queries: Sequence[Rows], keys: Sequence[Rows], queue: Rows, temperature: float = 0.1) -> float:
    """Each view finds the key of the other view of its image among the keys that are remembered."""
    losses = []
    for view, other in ((0, 1), (1, 0)):
        for q, k in zip(unit(queries[view]), unit(keys[other]), strict=True):
            scores = np.array([q @ k, *(q @ old for old in queue)]) / temperature
            losses.append(-log_softmax(scores)[0])
    return float(np.mean(losses))


def barlow_twins(first: Rows, second: Rows, weight: float = 5e-3) -> float:
    """The correlation of feature i in one view with feature j in the other is to be 1 if i = j and else 0."""
    a, b = ((z - z.mean(0)) / z.std(0) for z in (first, second))
    total = 0.0
    for i in range(a.shape[1]):
        for j in range(b.shape[1]):
            c = float(np.mean(a[:, i] * b[:, j]))
            total += (1 - c) ** 2 if i == j else weight * c**2
    return total


def vicreg(first: Rows, second: Rows) -> float:
    """25 times the distance, 25 times the mean shortfall of spreads below 1, 1 times the squared covariances."""
    distance = float(np.mean((first - second) ** 2))
    spread = covariances = 0.0
    for z in (first, second):
        d = z.shape[1]
        cov = np.cov(z, rowvar=False)
        spread += sum(max(0.0, 1 - math.sqrt(cov[i, i] + 1e-4)) for i in range(d)) / d / 2
        covariances += sum(cov[i, j] ** 2 for i in range(d) for j in range(d) if i != j) / d
    return 25 * distance + 25 * spread + covariances


def dino(teacher: Sequence[Rows], student: Sequence[Rows], centre: Rows) -> float:
    """Cross-entropy from the sharpened, centred teacher to the student, over pairs of different views."""
    losses = []
    for t, seen in enumerate(teacher):
        for s, guessed in enumerate(student):
            if s == t:
                continue
            for aim, guess in zip(seen, guessed, strict=True):
                losses.append(-float(np.exp(log_softmax((aim - centre) / 0.04)) @ log_softmax(guess / 0.1)))
    return float(np.mean(losses))


def swav(large: Sequence[Rows], small: Sequence[Rows]) -> float:
    """The codes of one large view, by three rounds of Sinkhorn, are predicted from every other view."""
    views = [*large, *small]
    losses = []
    for i, scores in enumerate(large):
        codes = sinkhorn(scores)
        for v, other in enumerate(views):
            if v != i:
                losses.append(np.mean([-(q @ log_softmax(z / 0.1)) for q, z in zip(codes, other, strict=True)]))
    return float(np.mean(losses))


def sinkhorn(scores: Rows, rounds: int = 3, epsilon: float = 0.05) -> Rows:
    """Equal shares for all prototypes, then one unit for every example, in turns."""
    codes = np.exp(scores / epsilon)
    for _ in range(rounds):
        codes = codes / codes.sum(0)
        codes = codes / codes.sum(1, keepdims=True)
    return codes
