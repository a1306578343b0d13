"""DUAL: examples whose probability varies and is low."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import window_mean

__all__ = ["dual"]


@registry.score(needs={"probabilities"}, paper="Cho et al. 2025 (DUAL)", tasks=("classification", "multilabel"))
def dual(signals: Signals, *, window: int | None = None, epochs: int | None = 30) -> NDArray[np.float64]:
    """Uncertainty times difficulty over sliding windows of early training.

    mean over seeds and over all windows of J successive recorded epochs of std(p_y) (1 - mean(p_y)), p_y the
    probability of the true class (with several labels per example, the mean over labels of that of the given
    value). std divides by J; dividing by J - 1 would rescale all scores equally.

    Parameters
    ----------
    signals
        Must have `probabilities` of at least `window` epochs, and of two.
    window
        J, in recorded epochs; None is half of those used, at least 2 and at most 10.
    epochs
        Only epochs up to this one are used; None uses all.
    """
    return window_mean(
        signals, window, epochs, "score 'dual'", lambda seen: seen.std(axis=0) * (1.0 - seen.mean(axis=0))
    )
