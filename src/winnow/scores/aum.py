"""AUM: the area under the margin, negated so that higher is harder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry
from .arithmetic import labels_of, softmax

__all__ = ["aum"]


@registry.score(needs={"logits"}, paper="Pleiss et al. 2020")
def aum(signals: Signals, *, on: str = "logits") -> NDArray[np.float64]:
    """Minus the mean margin of the true class over training.

    - mean over seeds and recorded epochs of (z_y - max over k != y of z_k), z the logits.

    Parameters
    ----------
    signals
        Must have `logits`.
    on
        `logits` as published; `probabilities` uses the margin on the softmax instead, which is a different score: it is
        bounded, so it does not show how large a safe margin was.
    """
    space = checks.choice("on", "score 'aum'", on, ("logits", "probabilities"))
    labels = labels_of(signals)
    everyone = np.arange(labels.size)
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        for logits in signals.logits[seed]:
            values = softmax(logits) if space == "probabilities" else logits.astype(np.float64)
            own = values[everyone, labels]
            values[everyone, labels] = -np.inf
            total += values.max(axis=1) - own
    return total / (len(signals.logits) * len(signals.epochs))
