"""Confidence: how uncertain the network is about its own prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import epoch_row, logits_mean, softmax

__all__ = ["confidence"]


@registry.score(needs={"logits"}, paper="Lewis and Gale 1994", tasks=("classification", "unlabelled"))
def confidence(signals: Signals, *, epoch: int | str = "last") -> NDArray[np.float64]:
    """One minus the largest probability, so that the least confident example is the hardest.

    mean over seeds of 1 - max over k of p_k, p = softmax(logits) after one epoch. The label is not used.

    Parameters
    ----------
    signals
        Must have `logits`.
    epoch
        Counted from 1 as in `signals.epochs`, or `early` or `last`.
    """
    row = epoch_row(signals, epoch, "score 'confidence'")
    return logits_mean(signals, row, lambda logits: 1.0 - softmax(logits).max(axis=1))
