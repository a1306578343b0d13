"""Entropy: how undecided the prediction is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.label_set_logits import log_sigmoid
from ..core import registry
from .arithmetic import binary_entropy, epoch_row, log_softmax, logits_mean

__all__ = ["entropy"]


@registry.score(needs={"logits"}, paper="Coleman et al. 2020", tasks=("classification", "multilabel", "unlabelled"))
def entropy(signals: Signals, *, epoch: int | str = "last") -> NDArray[np.float64]:
    """Entropy of the prediction, in nats.

    mean over seeds of - sum over k of p_k log p_k, p = softmax(logits) after one epoch. The label is not used. With
    several labels per example, p_k = sigmoid(logit_k), and it is the mean over labels of the entropy of each.

    Parameters
    ----------
    signals
        Must have `logits`.
    epoch
        Counted from 1 as in `signals.epochs`, or `early` or `last`.
    """
    row = epoch_row(signals, epoch, "score 'entropy'")
    return logits_mean(signals, row, _of_labels if signals.task == "multilabel" else _entropy)


def _of_labels(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(binary_entropy(np.exp(log_sigmoid(logits))).mean(axis=1))


def _entropy(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    logs = log_softmax(logits)
    return np.asarray(-(np.exp(logs) * logs).sum(axis=1))
