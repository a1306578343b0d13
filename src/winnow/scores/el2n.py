"""EL2N: how wrong the network is about an example early in training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import epoch_row, labels_of, slabs, softmax

__all__ = ["el2n"]


@registry.score(needs={"logits"}, paper="Paul et al. 2021")
def el2n(signals: Signals, *, epoch: int | str = "early") -> NDArray[np.float64]:
    """Length of the error vector early in training.

    mean over seeds of || p - onehot(y) ||, p = softmax(logits) after one epoch. Late in training the data are
    memorised and the score is noise, hence the early epoch.

    Parameters
    ----------
    signals
        Must have `logits`.
    epoch
        Counted from 1 as in `signals.epochs`; `early` is the first recorded epoch after a tenth of the planned
        training, `last` the last recorded one.
    """
    labels = labels_of(signals)
    row = epoch_row(signals, epoch, "score 'el2n'")
    total = np.zeros(len(signals))
    for logits in slabs(signals, row):
        error = softmax(logits)
        # 1 - p_y as the sum of the others: exact where p_y is within rounding of 1
        error[np.arange(labels.size), labels] = 0.0
        error[np.arange(labels.size), labels] = error.sum(axis=1)
        total += np.sqrt(np.square(error).sum(axis=1))
    return total / len(signals.logits)
