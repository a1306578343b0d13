"""Entropy: how undecided the prediction is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import epoch_row, log_softmax, logits_mean

__all__ = ["entropy"]


@registry.score(needs={"logits"}, paper="Coleman et al. 2020", tasks=("classification", "unlabelled"))
def entropy(signals: Signals, *, epoch: int | str = "last") -> NDArray[np.float64]:
    """Entropy of the prediction, in nats.

    mean over seeds of - sum over k of p_k log p_k, p = softmax(logits) after one epoch. The label is not used.

    Parameters
    ----------
    signals
        Must have `logits`.
    epoch
        Counted from 1 as in `signals.epochs`, or `early` or `last`.
    """
    row = epoch_row(signals, epoch, "score 'entropy'")
    return logits_mean(signals, row, _entropy)


def _entropy(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    logs = log_softmax(logits)
    return np.asarray(-(np.exp(logs) * logs).sum(axis=1))
