"""Forgetting: how often an example that was right turns wrong again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import labels_of

__all__ = ["forgetting"]


@registry.score(needs={"logits"}, paper="Toneva et al. 2019")
def forgetting(signals: Signals) -> NDArray[np.float64]:
    """Times the prediction goes from right to wrong between recorded epochs.

    Counted for each seed on its own, then averaged over seeds. An example that is never right in a seed counts
    one more than the largest count among those that seed did learn, so it is the hardest, and finite.

    Parameters
    ----------
    signals
        With `logits` of two epochs or more for the count to say anything.
    """
    labels = labels_of(signals)
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        forgotten = np.zeros(len(signals))
        ever = np.zeros(len(signals), dtype=bool)
        before = np.zeros(len(signals), dtype=bool)
        for logits in signals.logits[seed]:
            right = logits.argmax(axis=1) == labels
            forgotten += before & ~right
            ever |= right
            before = right
        forgotten[~ever] = forgotten.max() + 1  # unlearned ones hold 0, so this is the learned ones' maximum
        total += forgotten
    return total / len(signals.logits)
