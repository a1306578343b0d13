"""The result of one pilot training, as saved in a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.layouts import Tensors
from ..core.serialiser import Saved

__all__ = ["PilotTraining"]


@dataclass(frozen=True, eq=False)
class PilotTraining(Saved, kind="pilot training", layout=Tensors(arrays=("correct", "margins"))):
    """The result of one pilot training.

    Attributes
    ----------
    size, steps, seconds
        Examples trained on, optimiser steps (0 for a linear student), seconds of training.
    correct
        Whether each held-out example was classified correctly, in the order of ids.
    margins
        Logit of the label minus the largest other one, for each held-out example.
    """

    size: int
    steps: int
    seconds: float
    correct: NDArray[np.uint8]
    margins: NDArray[np.float32]
