"""Mislabelled: the probability that the label of an example is wrong, from everything that training revealed.

Two kinds of evidence are joined, because each sees what the other misses:

- **What others say.** q, the class probabilities of an example by those that do not know its label: networks of other
  folds (`oof`) and the labels of its nearest neighbours (`embeddings`), joined by the weights with which they predict
  the given labels best. m = log max over k != y of q_k - log q_y, y the given label.
- **How hard it is to learn.** a, minus the mean margin of the label over training (AUM). Networks learn wrong labels
  late and by heart.

Without `oof`, q is the mean prediction of the training itself. With s the standard deviation over all examples,

    P(wrong) = sigmoid(SLOPE (m / s_m + a / s_a) + c),

and c is such that the mean of P is the estimated share of wrong labels (`wrong_share`). SLOPE was chosen on development
data with planted errors, uniform, by pairs of classes and like those of people (`studies/checking`). Where wrong labels
look right to every network, they are not found, and the share is too low.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..core.seeds import drawn_first
from .arithmetic import labels_of
from .aum import aum
from .wrong_share import ahead, sigmoid, wrong_share

__all__ = [
    "LabelEvidence",
    "against_label",
    "at_share",
    "class_probabilities",
    "label_evidence",
    "mislabelled",
    "neighbour_votes",
]

Floats = NDArray[np.float64]

SLOPE = {True: 1.25, False: 1.5}  # out of fold, and otherwise
NEIGHBOURS = 10
FITTED = 50_000  # examples that the weights of q are fitted on, at most


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """What is known about each label.

    Parameters
    ----------
    probability
        That the label is wrong, one number per example.
    classes
        Probability of each class for each example, by those that do not know its label.
    share
        The estimated share of wrong labels.
    out_of_fold
        Whether the networks behind it were not trained on the example.
    labels
        The given class numbers.
    """

    probability: Floats
    classes: Floats
    share: float
    out_of_fold: bool
    labels: NDArray[np.int64]

    @property
    def suggestion(self) -> NDArray[np.int64]:
        """The most likely class other than the given one."""
        return np.asarray(self._others.argmax(axis=1))

    @property
    def suggestion_probability(self) -> Floats:
        """The probability of the suggested class: that the label is wrong, times that it is then this one."""
        rest = self._others
        return np.asarray(self.probability * rest.max(axis=1) / np.maximum(rest.sum(axis=1), 1e-12))

    def posterior(self) -> Floats:
        """Probability of each class to be the right one, the label taken into account."""
        rest = self._others
        shares = rest / np.maximum(rest.sum(axis=1, keepdims=True), 1e-12)
        found = self.probability[:, None] * shares
        found[np.arange(len(found)), self.labels] = 1 - self.probability
        return np.asarray(found)

    @property
    def _others(self) -> Floats:
        rest = self.classes.copy()
        rest[np.arange(len(rest)), self.labels] = 0.0
        return rest


@registry.score(
    needs={"margins", "predictions"},
    uses={"oof", "embeddings"},
    paper="winnow",
    tasks=("classification", "multilabel"),
    cost=registry.Cost("n classes", memory=4),
)
def mislabelled(signals: Signals) -> NDArray[np.float64]:
    """Probability that the label is wrong; with several labels per example, that any of them is.

    From out-of-fold predictions (`oof`) and the nearest neighbours (`embeddings`) where the signals hold them, and from
    the dynamics of training. Unlike other scores, more of it means worse to keep.

    Parameters
    ----------
    signals
        Must have `margins` and `predictions`; `oof` and `embeddings` make it better.
    """
    if signals.task == "multilabel":
        from .label_set_evidence import label_set_evidence

        return label_set_evidence(signals).probability
    return label_evidence(signals).probability


def label_evidence(signals: Signals, near: NDArray[np.int64] | None = None) -> LabelEvidence:
    """Return what is known about each label.

    Parameters
    ----------
    signals
        Must have `margins` and `predictions`, or `oof`.
    near
        The nearest neighbours of each example; found in the embeddings, if there are any, unless given.
    """
    labels = labels_of(signals)
    classes = class_probabilities(signals, near)
    blind = "oof" in signals
    share = wrong_share(classes, labels, blind)
    against = SLOPE[blind] * against_label(signals, classes)
    return LabelEvidence(at_share(against, share), classes, share, blind, labels)


def class_probabilities(signals: Signals, near: NDArray[np.int64] | None = None) -> Floats:
    """Probability of each class for each example, q: out of fold and by neighbours, or as the training predicts."""
    if "oof" in signals:
        return _others_say(signals, labels_of(signals), near)
    return np.asarray(signals.array("predictions").mean(axis=0, dtype=np.float64))


def against_label(signals: Signals, classes: Floats) -> Floats:
    """What speaks against each label, m / s_m + a / s_a; m twice if there are no dynamics."""
    evidence = _scaled(ahead(classes, labels_of(signals)))
    return np.asarray(evidence + (_scaled(_within(aum(signals), 3.0)) if "margins" in signals else evidence))


def at_share(evidence: Floats, share: float) -> Floats:
    """Probabilities sigmoid(evidence + c) whose mean is this share."""
    low, high = -60.0 - evidence.max(), 60.0 - evidence.min()
    for _ in range(80):  # bisection: the mean grows with c
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(evidence + middle).mean() < share else (low, middle)
    return sigmoid(evidence + (low + high) / 2)


def neighbour_votes(
    signals: Signals, labels: NDArray[np.int64], classes: int, near: NDArray[np.int64] | None = None
) -> Floats:
    """Share of each class among the nearest neighbours in the embeddings, with half a vote for every class."""
    from ..signals.neighbours import nearest

    count = min(NEIGHBOURS, len(signals) - 1)
    if near is None:
        near = nearest(signals.embeddings.reshape(len(signals), -1), count, ids=signals.ids).positions
    votes = np.full((len(signals), classes), 0.5)
    rows = np.arange(len(signals))
    for k in range(count):
        votes[rows, labels[near[:, k]]] += 1.0
    return np.asarray(votes / (count + 0.5 * classes))


def _others_say(signals: Signals, labels: NDArray[np.int64], near: NDArray[np.int64] | None = None) -> Floats:
    """Class probabilities by those that do not know the label, joined and calibrated on the given labels.

    softmax(sum over parts of w log p + b), with the weights w >= 0 and biases b that predict the labels best.
    """
    from scipy.optimize import minimize

    oof = signals.array("oof").mean(axis=0, dtype=np.float64)
    count = oof.shape[1]
    parts = [oof, *([neighbour_votes(signals, labels, count, near)] if "embeddings" in signals else [])]
    logs = [np.log(np.clip(part, 1e-3, 1.0)) for part in parts]
    rows = np.sort(drawn_first(0, ("label evidence",), signals.ids, min(FITTED, len(labels))))
    some, truth = [one[rows] for one in logs], labels[rows]
    hit = np.eye(count)[truth]

    def cost(values: Floats) -> tuple[float, Floats]:
        weights, bias = values[: len(some)], values[len(some) :]
        chances = _softmax(_weighted(weights, some) + bias)
        error = (chances - hit) / truth.size
        slope = [float((error * one).sum()) for one in some]
        loss = -np.log(np.maximum(chances[np.arange(truth.size), truth], 1e-300)).mean() + 1e-3 * (bias @ bias)
        return float(loss), np.concatenate([slope, error.sum(axis=0) + 2e-3 * bias])

    start = np.concatenate([np.full(len(some), 1 / len(some)), np.zeros(count)])
    bounds = [(0.0, 5.0)] * len(some) + [(-5.0, 5.0)] * count
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}).x
    return _softmax(_weighted(best[: len(logs)], logs) + best[len(logs) :])


def _weighted(weights: Floats, parts: list[Floats]) -> Floats:
    return np.asarray(sum(weight * part for weight, part in zip(weights, parts, strict=True)))


def _within(values: Floats, most: float) -> Floats:
    """Values in units of their standard deviation, cut at some of these."""
    return np.asarray(np.clip(_scaled(values), -most, most))


def _scaled(values: Floats) -> Floats:
    spread = values.std()
    return np.asarray(values / spread if spread > 0 else np.zeros_like(values))


def _softmax(values: Floats) -> Floats:
    shifted = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
