"""AUM: the area under the margin, negated so that higher is harder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry
from ..core.errors import NotDefinedError
from .arithmetic import trainings

__all__ = ["aum"]


@registry.score(needs={"margins", "losses"}, paper="Pleiss et al. 2020", tasks=("classification", "multilabel"))
def aum(signals: Signals, *, on: str = "logits") -> NDArray[np.float64]:
    """Minus the mean margin of the true class over training.

    - mean over seeds and recorded epochs of (z_y - max over k != y of z_k), z the logits. With several labels per
    example, the margin is the mean over labels of z_k where the label is given and - z_k where it is not.

    Parameters
    ----------
    signals
        Must have `margins`, and `losses` for probabilities: the largest other probability is exp(-(loss + margin)).
    on
        `logits` as published; `probabilities` uses the margin on the softmax instead, which is a different score: it is
        bounded, so it does not show how large a safe margin was. Not for several labels per example.
    """
    space = checks.choice("on", "score 'aum'", on, ("logits", "probabilities"))
    if space == "probabilities" and signals.task == "multilabel":
        raise NotDefinedError("on='probabilities' of score 'aum' compares two classes; several labels have none.")
    seeds, rows = trainings(signals, "margins"), len(signals.epochs)
    total = np.zeros(len(signals))
    for seed in range(seeds):
        for row in range(rows):
            margins = signals.after_epoch("margins", seed, row).astype(np.float64)
            if space == "probabilities":
                losses = signals.after_epoch("losses", seed, row).astype(np.float64)
                margins = np.exp(-losses) - np.exp(-(losses + margins))
            total -= margins
    return total / (seeds * rows)
