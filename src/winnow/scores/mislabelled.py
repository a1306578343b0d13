"""Mislabelled: the probability that the label of an example is wrong, from everything that training revealed.

Two kinds of evidence are joined, because each sees what the other misses:

- **What others say.** q, the class probabilities of an example by those that do not know its label: networks of other
  folds (`oof`), the labels of its nearest neighbours (`embeddings`) and a head on the embeddings that was fitted
  without it (`ridge_head`), joined by the weights with which they predict the given labels best.
  m = log max over k != y of q_k - log q_y, y the given label.
- **How hard it is to learn.** a, minus the mean margin of the label over training (AUM). Networks learn wrong labels
  late and by heart.

Without `oof`, q is the mean prediction of the training itself. With s the standard deviation over all examples,

    P(wrong) = sigmoid(SLOPE b (WEIGHT m / s_m + a / s_a) + c),

b is the slope of these data (`evidence_slope`), and c is such that the mean of P is the estimated share of wrong labels
(`wrong_share`). SLOPE and WEIGHT were chosen on development data with planted errors, uniform, by pairs of classes and
like those of people (`studies/checking`). Where wrong labels look right to every network, they are not found, and the
share is too low.

The class to suggest is the likeliest other one by q times the mean prediction of the networks that were trained on the
example: these know its wrong label, but rank the other classes better, because there are more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..core.seeds import drawn_first
from .arithmetic import labels_of
from .aum import aum
from .evidence_slope import evidence_slope
from .ridge_head import RidgeHead, ridge_head
from .wrong_share import ahead, sigmoid, wrong_share

__all__ = [
    "LabelEvidence",
    "against_label",
    "at_share",
    "class_probabilities",
    "head_votes",
    "label_evidence",
    "mislabelled",
    "neighbour_votes",
]

Floats = NDArray[np.float64]

SLOPE = {True: 1.0, False: 1.5}  # out of fold, and otherwise
WEIGHT = {True: 1.5, False: 1.0}  # of what others say
STEEP = 4.0  # how probabilities follow from the predictions of the head: softmax of so many times these
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
    learned
        Mean prediction of the networks that were trained on the example, if there are any besides `classes`.
    head
        The head on the embeddings that `classes` heard, if there is one.
    """

    probability: Floats
    classes: Floats
    share: float
    out_of_fold: bool
    labels: NDArray[np.int64]
    learned: Floats | None = None
    head: RidgeHead | None = None

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
        rest = self.classes * (1.0 if self.learned is None else np.maximum(self.learned, 1e-4))
        rest[np.arange(len(rest)), self.labels] = 0.0
        return np.asarray(rest)


@registry.score(
    needs={"margins", "predictions"},
    uses={"oof", "embeddings"},
    paper="winnow",
    tasks=("classification", "multilabel"),
    cost=registry.Cost("n classes", memory=4),
)
def mislabelled(signals: Signals) -> NDArray[np.float64]:
    """Probability that the label is wrong; with several labels per example, that any of them is.

    From out-of-fold predictions (`oof`), neighbours and a head on `embeddings`, where the signals hold them, and from
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


def label_evidence(signals: Signals, beside: Sequence[Floats] | None = None) -> LabelEvidence:
    """Return what is known about each label.

    Parameters
    ----------
    signals
        Must have `margins` and `predictions`, or `oof`.
    beside
        Further class probabilities by those that do not know the label, beside the networks; from the embeddings, if
        there are any, unless given.
    """
    labels, blind = labels_of(signals), "oof" in signals
    head = _head(signals) if blind and beside is None and "embeddings" in signals else None
    classes = class_probabilities(signals, beside if head is None else _beside(signals, head))
    share = wrong_share(classes, labels, blind)
    against = against_label(signals, classes)
    slope = SLOPE[blind] * (evidence_slope(against, classes, labels) if blind else 1.0)
    learned = (
        signals.array("predictions").mean(axis=0, dtype=np.float64) if blind and "predictions" in signals else None
    )
    return LabelEvidence(at_share(slope * against, share), classes, share, blind, labels, learned, head)


def class_probabilities(signals: Signals, beside: Sequence[Floats] | None = None) -> Floats:
    """Probability of each class for each example, q: by those that do not know its label, or as the training says."""
    if "oof" in signals:
        return _others_say(signals, labels_of(signals), beside)
    return np.asarray(signals.array("predictions").mean(axis=0, dtype=np.float64))


def against_label(signals: Signals, classes: Floats) -> Floats:
    """What speaks against each label, WEIGHT m / s_m + a / s_a; m alone, as often, if there are no dynamics."""
    evidence = _scaled(ahead(classes, labels_of(signals)))
    hard = _scaled(_within(aum(signals), 3.0)) if "margins" in signals else evidence
    return np.asarray(WEIGHT["oof" in signals] * evidence + hard)


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


def head_votes(predictions: Floats) -> Floats:
    """Class probabilities that follow from what a head on the embeddings predicts for each class."""
    return _softmax(STEEP * predictions)


def _head(signals: Signals) -> RidgeHead:
    rows, count = signals.embeddings.reshape(len(signals), -1), signals.array("oof").shape[-1]
    return ridge_head(rows, signals.ids, np.eye(count)[labels_of(signals)])


def _beside(signals: Signals, head: RidgeHead) -> list[Floats]:
    """What neighbours and a head on the embeddings say."""
    votes = neighbour_votes(signals, labels_of(signals), head.predictions.shape[1])
    return [votes, head_votes(head.predictions)]


def _others_say(signals: Signals, labels: NDArray[np.int64], beside: Sequence[Floats] | None) -> Floats:
    """Class probabilities by those that do not know the label, joined and calibrated on the given labels.

    softmax(sum over parts of w log p + b), with the weights w >= 0 and biases b that predict the labels best.
    """
    from scipy.optimize import minimize

    oof = signals.array("oof").mean(axis=0, dtype=np.float64)
    count = oof.shape[1]
    if beside is None:
        beside = _beside(signals, _head(signals)) if "embeddings" in signals else []
    parts = [oof, *beside]
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
