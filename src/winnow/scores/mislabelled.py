"""Mislabelled: the probability that the label of an example is wrong, from everything that training revealed.

Two kinds of evidence are joined, because each sees what the other misses:

- **What others say.** Class probabilities q by those that do not know the label: networks of other folds (`oof`),
  neighbours, and a head on the embeddings (`class_opinions`). m = log max over k != y of q_k - log q_y, y the given
  label. e is the same by neighbours and the head alone, if there are embeddings: they learn errors that follow a rule
  less than networks do.
- **How hard it is to learn.** a, minus the mean margin of the label over training (AUM). Networks learn wrong labels
  late and by heart.

Without `oof`, q is the mean prediction of the training itself. With s the standard deviation over all examples, and
the weights W and the slope S by what is known,

    P(wrong) = sigmoid(S b (W_1 m / s_m + W_2 e / s_e + W_3 a / s_a) + c),

b is the slope of these data (`evidence_slope`), and c is such that the mean of P is the estimated share of wrong labels
(`wrong_share`). If the embeddings alone predict the labels worse than all together do, W and S are between those
with embeddings and those without. If they predict them better than the networks alone do, as those of an open encoder
often do, e counts for more and the networks for less, and the share is nearer to the one that the embeddings alone
lead to, if that is larger: fixed features learn errors that follow a rule less. S and W were chosen on development data
with planted errors, uniform, by pairs of classes and like those of people (`studies/checking`). Where wrong labels look
right to every network, they are not found, and the share is too low.

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
from .arithmetic import labels_of
from .aum import aum
from .class_opinions import ClassOpinions, class_opinions
from .evidence_slope import evidence_slope
from .ridge_head import RidgeHead
from .wrong_share import ahead, sigmoid, wrong_share

__all__ = ["LabelEvidence", "against_label", "at_share", "label_evidence", "mislabelled"]

Floats = NDArray[np.float64]

# W_1, W_2, W_3 and S by what is known: embeddings that know far more than the networks, embeddings that know as much,
# out-of-fold predictions alone, or one ordinary training.
WEIGHTS = {
    "encoder": (0.5, 2.0, 0.25, 1.2),
    "embeddings": (1.0, 0.75, 0.5, 1.2),
    "oof": (1.5, 0.0, 1.0, 1.0),
    "training": (1.0, 0.0, 1.0, 1.5),
}
POWER = 4  # of what networks know of the labels over what embeddings know, and of the latter over what all know


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
    against
        What speaks against each label: the log odds that it is wrong, up to a number that is the same for all.
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
    against: Floats
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


def label_evidence(signals: Signals, beside: Sequence[Floats] | None = None, *, trees: bool = False) -> LabelEvidence:
    """Return what is known about each label.

    Parameters
    ----------
    signals
        Must have `margins` and `predictions`, or `oof`.
    beside
        Further class probabilities by those that do not know the label, beside the networks; from the embeddings, if
        there are any, unless given.
    trees
        Whether the embeddings are the columns of a table, so that a random forest is asked too.
    """
    labels, blind = labels_of(signals), "oof" in signals
    said = class_opinions(signals, beside, trees)
    known, lead = _knowledge(said, labels)
    share = wrong_share(said.classes, labels, blind)
    if known * lead > 0 and said.rows is not None:
        share += known * lead * max(0.0, wrong_share(said.rows, labels, True) - share)
    *weights, steep = _weights(known, lead, blind)
    against = against_label(signals, said, weights)
    against *= steep * (evidence_slope(against, said.classes, labels) if blind else 1.0)
    learned = (
        signals.array("predictions").mean(axis=0, dtype=np.float64) if blind and "predictions" in signals else None
    )
    return LabelEvidence(at_share(against, share), said.classes, share, against, blind, labels, learned, said.head)


def against_label(signals: Signals, said: ClassOpinions, weights: Sequence[float]) -> Floats:
    """What speaks against each label; what others say counts in place of the dynamics if there are none."""
    labels = labels_of(signals)
    joint, alone, learning = weights
    against = _scaled(ahead(said.classes, labels))
    hard = _scaled(_within(aum(signals), 3.0)) if "margins" in signals else against
    found = joint * against + learning * hard
    return np.asarray(found if said.rows is None else found + alone * _scaled(ahead(said.rows, labels)))


def _knowledge(said: ClassOpinions, labels: NDArray[np.int64]) -> tuple[float, float]:
    """How much of what all know of the labels the embeddings know alone, and how far ahead of the networks they are.

    Both are between 0 and 1, and 0 without embeddings. What is known is what is predicted beyond the largest class.
    """
    if said.rows is None:
        return 0.0, 0.0
    chance = float(np.bincount(labels).max()) / labels.size
    alone, every = (float((one.argmax(axis=1) == labels).mean()) - chance for one in (said.rows, said.classes))
    part, level = (
        min(1.0, max(0.0, one) / max(other, 1e-9)) ** POWER
        for one, other in ((alone, every), (said.networks - chance, alone))
    )
    return part, 1 - level


def _weights(known: float, lead: float, blind: bool) -> Floats:
    """W and S for these data."""
    rows = (1 - lead) * np.array(WEIGHTS["embeddings"]) + lead * np.array(WEIGHTS["encoder"])
    return np.asarray(known * rows + (1 - known) * np.array(WEIGHTS["oof" if blind else "training"]))


def at_share(evidence: Floats, share: float) -> Floats:
    """Probabilities sigmoid(evidence + c) whose mean is this share."""
    low, high = -60.0 - evidence.max(), 60.0 - evidence.min()
    for _ in range(80):  # bisection: the mean grows with c
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(evidence + middle).mean() < share else (low, middle)
    return sigmoid(evidence + (low + high) / 2)


def _within(values: Floats, most: float) -> Floats:
    """Values in units of their standard deviation, cut at some of these."""
    return np.asarray(np.clip(_scaled(values), -most, most))


def _scaled(values: Floats) -> Floats:
    spread = values.std()
    return np.asarray(values / spread if spread > 0 else np.zeros_like(values))
