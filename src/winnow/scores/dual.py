"""DUAL: examples whose probability moves about, and is low."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import registry
from ..artefacts import Signals
from .arithmetic import labels_of, rows_within, true_probabilities, window_length

__all__ = ["dual"]


@registry.score(needs={"logits"}, paper="Cho et al. 2025 (DUAL)")
def dual(signals: Signals, *, window: int = 10, epochs: int | None = 30) -> NDArray[np.float64]:
    """Uncertainty times difficulty over sliding windows of early training.

    mean over seeds and over all windows of J successive recorded epochs of std(p_y) (1 - mean(p_y)), p_y the
    probability of the true class. std divides by J; dividing by J - 1 would rescale every score alike.

    Parameters
    ----------
    signals
        With `logits` of at least `window` epochs.
    window
        J, in recorded epochs.
    epochs
        Only epochs up to this one are used; None uses all.
    """
    owner = "score 'dual'"
    rows = rows_within(signals, epochs, owner)
    length = window_length(signals, window, rows, owner)
    labels = labels_of(signals)
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        chances = true_probabilities(signals.logits[seed, :rows], labels)
        for start in range(rows - length + 1):
            seen = chances[start : start + length]
            total += seen.std(axis=0) * (1.0 - seen.mean(axis=0))
    return total / (len(signals.logits) * (rows - length + 1))
