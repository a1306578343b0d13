"""Uncertainty: how undecided training was about an example, on average."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from .arithmetic import binary_entropy

__all__ = ["uncertainty"]


@registry.score(
    needs={"predictions"},
    paper="Coleman et al. 2020 (entropy), of predictions averaged over training",
    tasks=("classification", "multilabel"),
)
def uncertainty(signals: Signals) -> NDArray[np.float64]:
    """Entropy of the predictions averaged over the second half of training, in nats; mean over seeds.

    An average over epochs is undecided where single predictions are, and also where they keep changing. The label is
    not used, so a wrong label does not make an example uncertain by itself. With several labels per example, the mean
    over labels of the entropy of each.

    Parameters
    ----------
    signals
        Must have `predictions`, or `logits`, from which they follow.
    """
    chances = np.asarray(signals.array("predictions", "score 'uncertainty'"), dtype=np.float64)
    if signals.task == "multilabel":
        return np.asarray(binary_entropy(chances).mean(axis=(0, 2)))
    logs = np.log(np.maximum(chances, np.finfo(np.float64).tiny))
    return np.asarray(-(chances * logs).sum(axis=2).mean(axis=0))
