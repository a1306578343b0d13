"""Forgetting: how often an example changes from right to wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import trainings

__all__ = ["forgetting"]


@registry.score(needs={"correct"}, paper="Toneva et al. 2019", tasks=("classification", "multilabel"))
def forgetting(signals: Signals) -> NDArray[np.float64]:
    """How often the prediction changes from right to wrong between recorded epochs.

    Counted per seed, then averaged over seeds. An example that is never right in a seed counts one more than the
    largest count among the examples that this seed learned, so it is the hardest, and finite. With several labels per
    example, right means that every label is.

    Parameters
    ----------
    signals
        Must have `correct`, of at least two epochs for a useful count.
    """
    seeds = trainings(signals, "correct")
    total = np.zeros(len(signals))
    for seed in range(seeds):
        forgotten = np.zeros(len(signals))
        ever = np.zeros(len(signals), dtype=bool)
        before = np.zeros(len(signals), dtype=bool)
        for row in range(len(signals.epochs)):
            right = signals.after_epoch("correct", seed, row).astype(bool)
            forgotten += before & ~right
            ever |= right
            before = right
        forgotten[~ever] = forgotten.max() + 1  # examples never learned have 0, so this is the maximum of the others
        total += forgotten
    return total / seeds
