"""suspects: examples that the observed networks never agreed with, which are likely mislabelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.labelled_logits import first_averaged
from ..core import checks
from ..core.errors import NotDefinedError

__all__ = ["Suspects", "suspects"]


@dataclass(frozen=True, eq=False)
class Suspects:
    """Which examples are likely mislabelled.

    Parameters
    ----------
    ids
        Ids of all examples.
    mask
        Which of them are suspects.
    noise_rate
        Their share, an estimate of the share of wrong labels. A network that fits wrong labels by heart hides them, so
        after a long training it is too low.
    """

    ids: NDArray[Any]
    mask: NDArray[np.bool_]
    noise_rate: float

    def __len__(self) -> int:
        return int(self.mask.sum())


def suspects(signals: Signals, *, probability: float = 0.5) -> Suspects:
    """Find examples that are likely mislabelled, at no cost beyond the observed training.

    An example is a suspect if its mean margin over the last half of the recorded epochs and all seeds is negative, and
    the averaged prediction gives another class more than `probability`.

    Parameters
    ----------
    signals
        Must have `margins` and `predictions`, or `logits`, from which both follow.
    probability
        What another class must exceed, in [0, 1].

    Returns
    -------
    Suspects
        A mask in the order of the signals, and the estimated share of wrong labels.

    Raises
    ------
    NotDefinedError
        If the signals have no class labels, margins or predictions.
    InputError
        If the probability is not in [0, 1].

    Examples
    --------
    >>> import winnow as wn
    >>> rec = wn.Recorder(3, classes=2)
    >>> rec.log([0, 1, 2], [[3.0, 0.0], [0.0, 3.0], [3.0, 0.0]], [0, 1, 1])
    >>> rec.end_epoch()
    >>> suspects(rec.signals()).mask.tolist()
    [False, False, True]
    """
    owner = "suspects"
    least = checks.number("probability", owner, probability, low=0, high=1)
    if signals.task != "classification":
        raise NotDefinedError(f"{owner} needs class labels; these signals are for {signals.task}.")
    seeds, epochs = signals.arrays[signals.origin("margins", owner)].shape[:2]
    late = range(first_averaged(epochs) - 1, epochs)
    total = np.zeros(len(signals))
    for seed in range(seeds):
        for row in late:
            total += signals.after_epoch("margins", seed, row)
    others = signals.array("predictions", owner).mean(axis=0, dtype=np.float64)
    others[np.arange(len(signals)), np.asarray(signals.labels)] = 0.0
    mask = (total < 0) & (others.max(axis=1) > least)
    return Suspects(signals.ids, mask, float(mask.mean()))
