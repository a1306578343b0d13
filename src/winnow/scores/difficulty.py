"""Difficulty: the loss of an example over the whole training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import trainings

__all__ = ["difficulty"]


@registry.score(needs={"losses"}, paper="Guo et al. 2024 (lpNTK)", tasks=("classification", "multilabel", "regression"))
def difficulty(signals: Signals) -> NDArray[np.float64]:
    """Sum of the example's loss over training.

    mean over seeds of the sum over recorded epochs of loss(x, y): cross-entropy for classes, the training loss for
    regression. This is the area under the learning curve of the example, so an example learned late scores high even
    if it is right at the end.

    Parameters
    ----------
    signals
        Must have `losses`.
    """
    seeds = trainings(signals, "losses")
    total = np.zeros(len(signals))
    for seed in range(seeds):
        for row in range(len(signals.epochs)):
            total += signals.after_epoch("losses", seed, row)
    return total / seeds
