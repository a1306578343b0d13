"""Dynamic uncertainty: examples whose probability varies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import window_mean

__all__ = ["dynamic_uncertainty"]


@registry.score(needs={"probabilities"}, paper="He et al. 2024 (Dyn-Unc)", tasks=("classification", "multilabel"))
def dynamic_uncertainty(signals: Signals, *, window: int | None = None, epochs: int | None = 30) -> NDArray[np.float64]:
    """Spread of the true class's probability over sliding windows.

    mean over seeds and over all windows of J successive recorded epochs of std(p_y), p_y the probability of the
    true class. std divides by J; dividing by J - 1 would rescale all scores equally.

    Higher means that the probability moved more, which is not the same as harder. An example that is never learned
    stays at a low probability and scores low. With many wrong labels (CIFAR-10 with human labels) the ranking is
    the reverse of difficulty: wrong labels come last. It suits selectors that keep what is in between, and no search
    for label issues.

    Parameters
    ----------
    signals
        Must have `probabilities` of at least `window` epochs, and of two.
    window
        J, in recorded epochs; None is half of those used, at least 2 and at most 10.
    epochs
        Only epochs up to this one are used; None uses all.
    """
    return window_mean(signals, window, epochs, "score 'dynamic_uncertainty'", lambda seen: seen.std(axis=0))
