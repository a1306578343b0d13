"""Margin: how close the two likeliest classes are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import epoch_row, logits_mean, softmax

__all__ = ["margin"]


@registry.score(needs={"logits"}, paper="Scheffer et al. 2001", tasks=("classification", "unlabelled"))
def margin(signals: Signals, *, epoch: int | str = "last") -> NDArray[np.float64]:
    """One minus the gap between the two largest probabilities.

    mean over seeds of 1 - (p_(1) - p_(2)), p = softmax(logits) in decreasing order after one epoch. The label is not
    used.

    Parameters
    ----------
    signals
        Must have `logits`.
    epoch
        Counted from 1 as in `signals.epochs`, or `early` or `last`.
    """
    row = epoch_row(signals, epoch, "score 'margin'")
    return logits_mean(signals, row, _closeness)


def _closeness(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    top = np.partition(softmax(logits), -2, axis=1)[:, -2:]
    return np.asarray(1.0 - (top[:, 1] - top[:, 0]))
