"""The targets that are logged with outputs; that of an example stays the same, or an error names it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .logged_batch import OWNER, class_targets, label_targets, target_rows

__all__ = ["KnownTargets"]

CHECKS = {"classification": class_targets, "multilabel": label_targets, "regression": target_rows}


class KnownTargets:
    """The targets of all examples, by position, as far as they are known.

    Parameters
    ----------
    n, classes, task
        Number of examples, and of classes, labels or outputs.

    Examples
    --------
    >>> targets = KnownTargets(3, 2, "classification")
    >>> targets.keep(np.array([2]), np.array([1]), epoch=1)
    >>> targets.values.tolist(), targets.known.tolist()
    ([0, 0, 1], [False, False, True])
    """

    def __init__(self, n: int, classes: int, task: str) -> None:
        self.n, self.classes, self.task = n, classes, task
        self.known = np.zeros(n, dtype=bool)  # whose target was seen in any epoch
        self.values: NDArray[Any]
        if task == "classification":
            self.values = np.zeros(n, dtype=np.int64)
        else:
            self.values = np.zeros((n, classes), dtype=np.uint8 if task == "multilabel" else np.float64)

    def keep(self, where: NDArray[np.int64], targets: NDArray[Any], epoch: int) -> None:
        """Check the targets of some positions and keep them."""
        targets = CHECKS[self.task](targets, where.size, self.classes)
        old = self.values[where]
        changed = self.known[where] & (old != targets).reshape(where.size, -1).any(1)
        if changed.any():
            first = int(np.argmax(changed))
            raise InputError(
                f"targets of {OWNER}.log must stay the same; that of position {int(where[first])} was "
                f"{old[first]} and is {targets[first]} in epoch {epoch}."
            )
        self.values[where] = targets
        self.known[where] = True

    def labels(self) -> NDArray[Any]:
        """A copy in the form of Signals: those of one output are a vector."""
        single = self.task == "regression" and self.classes == 1
        return (self.values[:, 0] if single else self.values).copy()
