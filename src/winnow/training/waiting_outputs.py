"""Outputs that wait to be measured, until there are enough of them to be worth it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .epoch_measures import CHUNK

__all__ = ["WaitingOutputs"]

Batch = tuple[NDArray[np.int64], NDArray[np.float32]]  # positions and outputs


class WaitingOutputs:
    """Collects rows of outputs and gives them back together, some thousand numbers at a time.

    Parameters
    ----------
    columns
        Outputs per example.

    Examples
    --------
    >>> waiting = WaitingOutputs(2)
    >>> list(waiting.add(np.array([5, 3]), np.zeros((2, 2))))
    []
    >>> [(positions.tolist(), outputs.shape) for positions, outputs in waiting.rest()]
    [([5, 3], (2, 2))]
    """

    def __init__(self, columns: int) -> None:
        self._positions = np.empty(max(1, CHUNK // columns), dtype=np.int64)
        self._outputs = np.empty((self._positions.size, columns), dtype=np.float32)
        self._count = 0

    def add(self, positions: NDArray[np.int64], outputs: NDArray[Any]) -> Iterator[Batch]:
        """Add rows; yields those that wait, in the order in which they came, whenever there are enough."""
        start = 0
        while start < positions.size:
            taken = min(positions.size - start, self._positions.size - self._count)
            place, part = slice(self._count, self._count + taken), slice(start, start + taken)
            self._positions[place], self._outputs[place] = positions[part], outputs[part]
            self._count, start = self._count + taken, start + taken
            if self._count == self._positions.size:
                yield from self.rest()

    def rest(self) -> Iterator[Batch]:
        """Yield what waits, if anything does."""
        count, self._count = self._count, 0
        if count:
            yield self._positions[:count], self._outputs[:count]

    def clear(self) -> None:
        """Forget what waits."""
        self._count = 0
