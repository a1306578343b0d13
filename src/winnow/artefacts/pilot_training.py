"""The result of one pilot training, as saved in a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.layouts import Tensors
from ..core.serialiser import Saved

__all__ = ["PilotTraining"]

LAYOUT = Tensors(arrays=("correct", "margins"))


@dataclass(frozen=True, eq=False)
class PilotTraining(Saved, kind="pilot training", layout=LAYOUT, durations=("seconds",)):
    """The result of one pilot training.

    Attributes
    ----------
    size, steps
        Examples trained on, and optimiser steps (0 for a linear student).
    correct
        Whether each held-out example was classified correctly, in the order of ids.
    margins
        Logit of the label minus the largest other one, for each held-out example.
    seconds
        Seconds of training.
    """

    size: int
    steps: int
    correct: NDArray[np.uint8]
    margins: NDArray[np.float32]
    seconds: float = math.nan
