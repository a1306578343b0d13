"""What follows from the logits and labels of some examples after one epoch: loss, probability, margin, right or wrong.

The one home of these formulas: a Recorder computes them as an epoch ends, and `Signals` from stored logits. Everything
is in float64; the largest logit is subtracted first, so that logits of any finite size give finite numbers.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AVERAGED", "DYNAMICS", "LabelledLogits", "first_averaged", "log_softmax"]

Floats = NDArray[np.float64]

DYNAMICS = ("losses", "probabilities", "margins", "correct", "errors")  # per seed, epoch and example
AVERAGED = 0.5  # share of the epochs, counted from the last, over which predictions are averaged


def log_softmax(logits: NDArray[np.floating]) -> Floats:
    """Logarithm of the softmax over the last axis."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def first_averaged(epochs: int, share: float = AVERAGED) -> int:
    """The first of the last epochs, counted from 1, that make up this share of all, at least one."""
    return epochs - max(1, math.ceil(share * epochs)) + 1


class LabelledLogits:
    """Logits of some examples after one epoch, with their labels.

    Parameters
    ----------
    logits
        One row per example.
    labels
        Their class numbers; only `predictions` can do without.
    """

    def __init__(self, logits: NDArray[np.floating], labels: NDArray[Any] | None) -> None:
        self._logits = logits
        self._labels = np.zeros(0, dtype=np.int64) if labels is None else labels
        self._everyone = np.arange(len(logits))

    @cached_property
    def _logs(self) -> Floats:
        return log_softmax(self._logits)

    @cached_property
    def predictions(self) -> Floats:
        """Probabilities of all classes."""
        return np.exp(self._logs)

    @property
    def losses(self) -> Floats:
        """Cross-entropy: minus the logarithm of the label's probability."""
        return np.asarray(-self._logs[self._everyone, self._labels])

    @property
    def probabilities(self) -> Floats:
        """Probability of the label."""
        return np.exp(-self.losses)

    @property
    def margins(self) -> Floats:
        """Logit of the label minus the largest other logit."""
        values = self._logits.astype(np.float64)
        own = values[self._everyone, self._labels]
        values[self._everyone, self._labels] = -np.inf
        return np.asarray(own - values.max(axis=1))

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the largest logit is the label's."""
        return np.asarray(self._logits.argmax(axis=1) == self._labels)

    @property
    def errors(self) -> Floats:
        """Length of the error vector: probabilities of all classes minus the one-hot label (EL2N)."""
        error = self.predictions.copy()
        # 1 - p_y as the sum of the others: exact where p_y is within rounding of 1
        error[self._everyone, self._labels] = 0.0
        error[self._everyone, self._labels] = error.sum(axis=1)
        return np.asarray(np.sqrt(np.square(error).sum(axis=1)))

    def array(self, name: str) -> NDArray[Any]:
        """One of `DYNAMICS` or `predictions`, by name."""
        return np.asarray(getattr(self, name))
