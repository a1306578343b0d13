"""The share of wrong labels, estimated from the class probabilities of those that do not know the label.

Few things that can be seen in a data set depend on how many labels are wrong and not on how hard it is. Those used are
the examples that the networks are surest of: if one label in five is wrong, a fifth of these labels is contradicted,
however hard the others are. The estimate is a logistic regression on such numbers, as log odds. Its weights were fitted
on development data (`studies/checking`) so that the estimate is within a third of the truth or 4 points as often as
possible.

It sees errors that fall on all examples alike. Errors where a class really looks like another one, as people make them,
leave the surest examples alone: their share comes out at about two thirds on hard data, and lower on easy ones. If they
follow a rule that networks learn, nothing is seen of them. So the estimate does not go below LEAST.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST", "MOST", "SPREAD", "ahead", "share_numbers", "sigmoid", "wrong_share"]

Floats = NDArray[np.float64]

# Each for networks that were not trained on the example, and for those that were.
LEAST = {True: 0.02, False: 0.002}
MOST = 0.9
SPREAD = {True: 0.69, False: 0.59}  # standard error of the share on other data, as a logit
WEIGHTS = {  # intercept, and the weights of the six numbers
    True: (0.60, 0.76, 0.20, 0.26, 0.07, 0.0, 0.0),
    False: (0.19, 0.0, 0.0, 0.0, -0.66, 1.23, 0.05),
}
SUREST = 5  # one in so many counts among the surest


def wrong_share(classes: Floats, labels: NDArray[np.int64], out_of_fold: bool) -> float:
    """Return the estimated share of wrong labels.

    Parameters
    ----------
    classes
        Probability of each class for each example.
    labels
        The given class numbers.
    out_of_fold
        Whether the networks behind the probabilities were not trained on the example.
    """
    first, *others = WEIGHTS[out_of_fold]
    odds = first + share_numbers(classes, labels) @ np.array(others)
    return float(np.clip(1.02 * sigmoid(odds) - 0.01, LEAST[out_of_fold], MOST))


def share_numbers(classes: Floats, labels: NDArray[np.int64]) -> Floats:
    """The six numbers that the share of wrong labels follows from, as log odds.

    How often another class than the label is likeliest among the surest fifth; how often it has more than .8, and more
    than .5; how unsure the median is; how unsure the surest fifth is; how often another class is far ahead.
    """
    sure = classes.max(axis=1)
    others = classes.copy()
    others[np.arange(labels.size), labels] = 0.0
    rival = others.max(axis=1)
    surest = sure >= np.quantile(sure, 1 - 1 / SUREST)
    ordered = np.sort(sure)
    numbers = np.array(
        [
            (classes.argmax(axis=1) != labels)[surest].mean(),
            (rival > 0.8).mean(),
            (rival > 0.5).mean(),
            1 - np.median(sure),
            1 - ordered[-max(1, labels.size // SUREST) :].mean(),
            (ahead(classes, labels) > 2).mean(),
        ]
    )
    return np.asarray(np.log((numbers + 0.01) / (1.01 - numbers)))


def ahead(classes: Floats, labels: NDArray[np.int64]) -> Floats:
    """How far the best other class is ahead of the label, in log odds within -6 and 6."""
    rows = np.arange(labels.size)
    others = classes.copy()
    others[rows, labels] = 0.0
    tiny = 1e-6
    odds = np.log(np.maximum(others.max(axis=1), tiny)) - np.log(np.maximum(classes[rows, labels], tiny))
    return np.asarray(np.clip(odds, -6.0, 6.0))


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-values)), without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -500, 500))))
