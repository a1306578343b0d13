"""What follows from the logits of several labels per example after one epoch: the sister of `labelled_logits`.

Each label k has its own logit z_k, its probability p_k = sigmoid(z_k), and is given (y_k = 1) or not (y_k = 0). With
s_k = 1 if it is given and -1 if not, the probability of the given value is sigmoid(s_k z_k), and s_k z_k is its margin.
Over the K labels of an example:

    loss         mean of the binary cross-entropies, - log sigmoid(s_k z_k)
    probability  mean of sigmoid(s_k z_k)
    margin       mean of s_k z_k
    correct      whether every s_k z_k is above 0
    error        length of the vector p - y (EL2N)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labelled_logits import LabelledLogits

__all__ = ["LabelSetLogits", "log_sigmoid", "seen_logits"]

Floats = NDArray[np.float64]


def log_sigmoid(values: NDArray[np.floating]) -> Floats:
    """Logarithm of 1 / (1 + exp(-values)), finite for values of any finite size."""
    wide = values.astype(np.float64)
    return np.asarray(np.minimum(wide, 0.0) - np.log1p(np.exp(-np.abs(wide))))


class LabelSetLogits:
    """Logits of some examples after one epoch, with their labels.

    Parameters
    ----------
    logits
        One row per example, one column per label.
    labels
        Rows of 0 and 1; only `predictions` can do without.
    """

    def __init__(self, logits: NDArray[np.floating], labels: NDArray[Any] | None) -> None:
        self._logits = logits
        self._labels = np.zeros(0) if labels is None else labels

    @cached_property
    def _signed(self) -> Floats:
        return np.where(self._labels != 0, self._logits, -self._logits).astype(np.float64)

    @property
    def predictions(self) -> Floats:
        """Probability of each label."""
        return np.exp(log_sigmoid(self._logits))

    @property
    def losses(self) -> Floats:
        """Mean over labels of the binary cross-entropy."""
        return np.asarray(-log_sigmoid(self._signed).mean(axis=1))

    @property
    def probabilities(self) -> Floats:
        """Mean over labels of the probability of the given value."""
        return np.asarray(np.exp(log_sigmoid(self._signed)).mean(axis=1))

    @property
    def margins(self) -> Floats:
        """Mean over labels of the logit, with the sign of the given value."""
        return np.asarray(self._signed.mean(axis=1))

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether every label is on its right side."""
        return np.asarray((self._signed > 0).all(axis=1))

    @property
    def errors(self) -> Floats:
        """Length of the error vector: probabilities minus labels (EL2N)."""
        return np.asarray(np.sqrt(np.square(np.exp(log_sigmoid(-self._signed))).sum(axis=1)))

    def array(self, name: str) -> NDArray[Any]:
        """One of `DYNAMICS` or `predictions`, by name."""
        return np.asarray(getattr(self, name))


def seen_logits(
    task: str, logits: NDArray[np.floating], labels: NDArray[Any] | None
) -> LabelledLogits | LabelSetLogits:
    """Logits with their labels, for the task: one class per example, or several labels."""
    return (LabelSetLogits if task == "multilabel" else LabelledLogits)(logits, labels)
