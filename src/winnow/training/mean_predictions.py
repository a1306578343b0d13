"""The mean of each example's predictions over the last epochs, updated with each; none of them is held."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts.labelled_logits import first_averaged
from ..core.scratch_rows import filled_rows, zero_rows

__all__ = ["MeanPredictions"]


class MeanPredictions:
    """A table of means, one row per example, to which predictions of any rows are added.

    Parameters
    ----------
    n, classes
        Its shape.
    planned_epochs
        Total number of epochs of the training; if None, epoch t weighs t (t + 1).
    averaged
        Share of the planned epochs, counted from the last, whose mean it is; before them, that of all so far.

    Examples
    --------
    >>> mean = MeanPredictions(1, 2, planned_epochs=4, averaged=0.5)
    >>> for epoch in range(1, 5):
    ...     mean.add(slice(0, 1), np.array([[epoch, 0.0]]), epoch)
    >>> mean.table.tolist()
    [[3.5, 0.0]]
    """

    def __init__(self, n: int, classes: int, planned_epochs: int | None, averaged: float) -> None:
        self.table: NDArray[np.float32] = zero_rows((n, classes), np.float32)
        self._first = None if planned_epochs is None else first_averaged(planned_epochs, averaged)
        self._given = False  # whether somebody else holds the table too

    def add(self, where: NDArray[np.int64] | slice, predictions: NDArray[np.floating], epoch: int) -> None:
        """Count what an epoch predicts for some rows."""
        if self._given:
            self.load(self.table)
        mean = self.table[where]
        self.table[where] = mean + self._weight(epoch) * (predictions - mean)

    def given(self) -> NDArray[np.float32]:
        """The table, to be kept: it is copied before it is changed again."""
        self._given = True
        return self.table

    def load(self, table: NDArray[np.float32]) -> None:
        """Go on from a copy of a table."""
        self.table, self._given = filled_rows([table], len(table)), False

    def _weight(self, epoch: int) -> float:
        """The weight of an epoch's predictions against the mean of those before."""
        if self._first is None:
            return 3 / (epoch + 2)
        return 1 / epoch if epoch < self._first else 1 / (epoch - self._first + 1)
