"""EL2N: how wrong the network is about an example early in training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import epoch_row, seed_mean

__all__ = ["el2n"]


@registry.score(needs={"errors"}, paper="Paul et al. 2021", tasks=("classification", "multilabel"))
def el2n(signals: Signals, *, epoch: int | str = "early") -> NDArray[np.float64]:
    """Length of the error vector early in training.

    mean over seeds of || p - onehot(y) ||, p = softmax(logits) after one epoch; with several labels per example
    || p - y ||, p = sigmoid(logits). Late in training the data are memorised and the score is noise, hence the early
    epoch.

    Parameters
    ----------
    signals
        Must have `errors`.
    epoch
        Counted from 1 as in `signals.epochs`; `early` is the first recorded epoch after a tenth of the planned
        training, `last` the last recorded one.
    """
    return seed_mean(signals, "errors", epoch_row(signals, epoch, "score 'el2n'"))
