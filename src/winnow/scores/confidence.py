"""Confidence: how much the network lacks of certainty about its own answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import epoch_row, seed_mean, softmax

__all__ = ["confidence"]


@registry.score(needs={"logits"}, paper="Lewis and Gale 1994", tasks=("classification", "unlabelled"))
def confidence(signals: Signals, *, epoch: int | str = "last") -> NDArray[np.float64]:
    """One less the largest probability, so the least confident is the hardest.

    mean over seeds of 1 - max over k of p_k, p = softmax(logits) after one epoch. The label plays no part.

    Parameters
    ----------
    signals
        With `logits`.
    epoch
        Counted from 1 as in `signals.epochs`, or `early` or `last`.
    """
    row = epoch_row(signals, epoch, "score 'confidence'")
    return seed_mean(signals, row, lambda logits: 1.0 - softmax(logits).max(axis=1))
