"""The share of wrong labels, estimated from the class probabilities of those that do not know the label.

Hard data and wrong labels both make networks and labels disagree. They differ in where: on hard data the disagreement
vanishes for the examples that networks are surest of, while wrong labels leave a floor. With q the class probabilities,
labels y are taken to come from

    P(y | x) = (1 - r) p_y + r sum over t of p_t C_ty,    p = softmax(w log q):

a sharper prediction p of the true class t, and a share r of labels that were moved to another class, to each in
proportion to C, how often labels y are found where t is predicted. r and w are those of the largest likelihood
(`moved_share`). Networks that learned the floor itself, as they do if a class is often taken for one other, leave no
trace in w. Then it shows among the examples that they are surest of (`floor_share`). The estimate is the larger of the
two. No constant of it comes from other data. On clean data it is near 0, however hard they are. Networks that predict
labels no better than the largest class does know nothing about them, and then the estimate is LEAST.

Errors where a class really looks like another one, as people make them, partly look like hard data: the estimate is
then too low, most of all with two classes and on easy data. If errors follow a rule that networks learn, nothing is
seen of them. So the estimate does not go below LEAST.

The networks of an ordinary training have seen the labels, and know them too well for this. There the share is a
logistic regression on three numbers, fitted on development data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LEAST",
    "MOST",
    "ahead",
    "better_than_chance",
    "floor_share",
    "moved_chances",
    "moved_share",
    "share_interval",
    "share_numbers",
    "sigmoid",
    "wrong_share",
]

Floats = NDArray[np.float64]

# Each for networks that were not trained on the example, and for those that were.
LEAST = {True: 0.01, False: 0.002}
MOST = 0.9
BELOW, ABOVE = 0.49, 0.16  # out of fold, the truth of other data was within .49 r and r + .16 in 95 %
SPREAD = 0.59  # otherwise: standard error of the share on other data, as a logit
TRAINED = (0.19, -0.66, 1.23, 0.05)  # intercept, and the weights of the three numbers
SUREST = 5  # one in so many counts among the surest
EVEN = 0.1  # how far C is drawn to all other classes alike
SHARPEST = 8.0  # w at most
NUMBERS = 5_000_000  # class probabilities that r and w are fitted on, at most


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
    if out_of_fold:
        known = better_than_chance(classes, labels)
        found = max(moved_share(classes, labels), floor_share(classes, labels)) if known else 0.0
    else:
        first, *others = TRAINED
        odds = first + share_numbers(classes, labels) @ np.array(others)
        found = 1.02 * float(sigmoid(odds)) - 0.01
    return float(np.clip(found, LEAST[out_of_fold], MOST))


def share_interval(share: float, out_of_fold: bool, unknown: float = 1.0) -> tuple[float, float]:
    """Between which bounds the share was in 95 % of other data sets with such an estimate.

    Parameters
    ----------
    share
        The estimate.
    out_of_fold
        As in `wrong_share`.
    unknown
        Share of the labels that no person has looked at; the interval is narrower by this factor.
    """
    if out_of_fold:
        return share * BELOW**unknown, min(share + ABOVE * unknown, 1.0)
    odds = np.log((share + 1e-6) / (1 - share + 1e-6))
    low, high = (float(sigmoid(odds + sign * 1.96 * SPREAD * unknown)) for sign in (-1, 1))
    return low, high


def moved_share(classes: Floats, labels: NDArray[np.int64]) -> float:
    """The share r of labels that were moved to another class, of the largest likelihood.

    Parameters
    ----------
    classes
        Probability of each class for each example, by those that do not know its label.
    labels
        The given class numbers.
    """
    return _moved(classes, labels)[0]


def moved_chances(classes: Floats, labels: NDArray[np.int64]) -> tuple[int, Floats]:
    """The chance of each label to have been moved, by the same model, for every so many-th example.

    Parameters
    ----------
    classes, labels
        As in `moved_share`.
    """
    rate, kept, moved = _moved(classes, labels)
    return _step(classes), rate * moved / np.maximum((1 - rate) * kept + rate * moved, 1e-300)


def _step(classes: Floats) -> int:
    """Every so many-th example is fitted, by order of the ids, so that equal data give equal shares."""
    return 1 + classes.size // NUMBERS


def _moved(classes: Floats, labels: NDArray[np.int64]) -> tuple[float, Floats, Floats]:
    """The share r, and the probability of each label if it was not moved, and if it was."""
    from scipy.optimize import minimize_scalar

    step = _step(classes)
    logs, given = np.log(np.clip(classes[::step], 1e-6, 1.0)), labels[::step]
    moves = _moves(classes, labels)[:, given].T

    def cost(sharper: float) -> float:
        return -_best_rate(*_both(logs, given, moves, sharper))[1]

    tried = np.linspace(-0.5, np.log(SHARPEST), 14)
    at = int(np.argmin([cost(one) for one in tried]))
    around = (tried[max(at - 1, 0)], tried[min(at + 1, tried.size - 1)])
    best = minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-3}).x
    both = _both(logs, given, moves, float(best))
    return (_best_rate(*both)[0], *both)


def floor_share(classes: Floats, labels: NDArray[np.int64]) -> float:
    """How often another class than the label is predicted where networks are surest, as far as it is a floor.

    With e_10 and e_30 this share among the surest tenth and three tenths, 2 e_10 - e_30: what a line through both comes
    to for the surest of all. At most e_30.
    """
    order = np.argsort(-classes.max(axis=1), kind="stable")
    against = (classes.argmax(axis=1) != labels)[order]
    tenth, more = against[: max(1, labels.size // 10)].mean(), against[: max(1, 3 * labels.size // 10)].mean()
    return float(min(2 * tenth - more, more))


def better_than_chance(classes: Floats, labels: NDArray[np.int64]) -> bool:
    """Whether predictions agree with labels more often than the largest class does, by two standard errors."""
    chance = float(np.bincount(labels).max()) / labels.size
    error = float(np.sqrt(chance * (1 - chance) / labels.size))
    return float((classes.argmax(axis=1) == labels).mean()) > chance + 2 * error


def _moves(classes: Floats, labels: NDArray[np.int64]) -> Floats:
    """C: for each predicted class, how its labels that are different are spread over the other classes."""
    count = classes.shape[1]
    found = np.zeros((count, count))
    np.add.at(found, (classes.argmax(axis=1), labels), 1.0)
    np.fill_diagonal(found, 0.0)
    found += EVEN * (found.sum(axis=1, keepdims=True) / max(count - 1, 1) + 1)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _both(logs: Floats, labels: NDArray[np.int64], moves: Floats, sharper: float) -> tuple[Floats, Floats]:
    """The probability of each label if it was not moved, and if it was; `sharper` is log w."""
    raised = np.exp(np.exp(sharper) * (logs - logs.max(axis=1, keepdims=True)))
    total = raised.sum(axis=1)
    kept = raised[np.arange(labels.size), labels]
    return kept / total, (raised * moves).sum(axis=1) / total


def _best_rate(kept: Floats, moved: Floats) -> tuple[float, float]:
    """The share of moved labels of the largest likelihood, and its mean logarithm, which is concave in the share."""
    low, high = 0.0, 1.0
    for _ in range(40):
        rate = (low + high) / 2
        slope = ((moved - kept) / np.maximum((1 - rate) * kept + rate * moved, 1e-300)).sum()
        low, high = (rate, high) if slope > 0 else (low, rate)
    return rate, float(np.log(np.maximum((1 - rate) * kept + rate * moved, 1e-300)).mean())


def share_numbers(classes: Floats, labels: NDArray[np.int64]) -> Floats:
    """Three numbers that the share follows from after an ordinary training, as log odds.

    How unsure the median is; how unsure the surest fifth is; how often another class than the label is far ahead.
    """
    sure = np.sort(classes.max(axis=1))
    numbers = np.array(
        [
            1 - np.median(sure),
            1 - sure[-max(1, labels.size // SUREST) :].mean(),
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
