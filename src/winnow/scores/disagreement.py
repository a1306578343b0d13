"""Disagreement: how much the networks of an ensemble contradict each other about an example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.label_set_logits import log_sigmoid
from ..artefacts.labelled_logits import first_averaged
from ..core import checks, registry
from .arithmetic import binary_entropy, log_softmax, parts_of

__all__ = ["disagreement"]

MEASURES = ("information", "entropy", "variation")
Floats = NDArray[np.float64]


@registry.score(
    needs={"logits"},
    paper="Chitta et al. 2021 (ensemble active learning)",
    tasks=("classification", "multilabel", "unlabelled"),
)
def disagreement(signals: Signals, *, measure: str = "information") -> NDArray[np.float64]:
    """How much an ensemble of networks disagrees about the example.

    The ensemble is the network after each recorded epoch of the second half of training, for every seed. With p the
    members' probabilities, `information` is H(mean p) - mean H(p), what a member's identity tells about its
    prediction; `entropy` is H(mean p); `variation` is the share of members that do not predict the most predicted
    class. The label is not used. With several labels per example, each is a question with two answers, and the score
    is the mean over labels.

    Parameters
    ----------
    signals
        Must have `logits`, of several seeds or epochs for `information` and `variation` to be above 0.
    measure
        `information`, `entropy` or `variation`.
    """
    checks.choice("measure", "score 'disagreement'", measure, MEASURES)
    seeds, epochs = signals.logits.shape[:2]
    members = [(seed, row) for seed in range(seeds) for row in range(first_averaged(epochs) - 1, epochs)]
    out = np.empty(len(signals))
    for part in parts_of(signals.logits[0, 0]):
        mean = within = votes = np.zeros(1)
        for seed, row in members:
            chances = _chances(signals.logits[seed, row, part], signals.task)
            mean = mean + chances / len(members)
            within = within + _entropy(chances) / len(members)
            votes = votes + (chances >= chances.max(axis=1, keepdims=True)) / len(members)
        if measure == "variation":
            out[part] = 1.0 - votes.max(axis=1).mean(axis=-1)
        else:
            total = _entropy(mean)
            found = total if measure == "entropy" else np.maximum(total - within, 0.0)
            out[part] = found.mean(axis=-1)
    return out


def _chances(logits: NDArray[np.floating], task: str) -> Floats:
    """Examples x answers x questions: one question about the class, or one per label with the answers no and yes."""
    if task != "multilabel":
        return np.asarray(np.exp(log_softmax(logits))[:, :, None])
    yes = np.exp(log_sigmoid(logits))
    return np.stack([1.0 - yes, yes], axis=1)


def _entropy(chances: Floats) -> Floats:
    """In nats, per example and question."""
    if chances.shape[1] == 2:
        return binary_entropy(chances[:, 1])
    return np.asarray(-(chances * np.log(np.maximum(chances, np.finfo(np.float64).tiny))).sum(axis=1))
