"""How steeply the probability of a wrong label follows the evidence, for one data set.

Evidence is in units of its spread over the examples, and means more where networks know the data well. How much more
follows from the model that the share of wrong labels is estimated with (`wrong_share.moved_chances`): it gives each
label a chance of being moved, from the class probabilities alone. The slope a of the logistic regression of these
chances on the evidence is that of the data set, and near the best one on development data. Its square root is taken,
halfway to no change at all, because the model is only a model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .wrong_share import moved_chances, sigmoid

__all__ = ["evidence_slope", "logistic_slope"]

Floats = NDArray[np.float64]

FEWEST = 0.005  # estimated share of moved labels below which they say nothing about the slope
WITHIN = (0.4, 2.5)
ROUNDS = 50


def evidence_slope(evidence: Floats, classes: Floats, labels: NDArray[np.int64]) -> float:
    """The factor for the slope of these data; 1 if hardly any label was moved.

    Parameters
    ----------
    evidence
        What speaks against each label.
    classes
        Probability of each class for each example, by those that do not know its label.
    labels
        The given class numbers.
    """
    every, chances = moved_chances(classes, labels)
    if chances.mean() < FEWEST:
        return 1.0
    return float(np.sqrt(np.clip(logistic_slope(evidence[::every], chances), *WITHIN)))


def logistic_slope(x: Floats, chances: Floats) -> float:
    """The slope a of sigmoid(a x + c) that is nearest to these probabilities, by Newton's method."""
    design = np.stack([x, np.ones_like(x)], axis=1)
    found = np.array([1.0, float(np.log(chances.mean() / (1 - chances.mean()))) - 1.0])
    for _ in range(ROUNDS):
        now = sigmoid(design @ found)
        slope = design.T @ (now - chances) / x.size
        curve = (design * (now * (1 - now))[:, None]).T @ design / x.size + 1e-9 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        found = found - step / max(1.0, float(np.abs(step).max()))  # at most 1 a round, so that it cannot run away
        if np.abs(step).max() < 1e-8:
            break
    return float(found[0])
