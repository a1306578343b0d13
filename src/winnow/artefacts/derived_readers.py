"""Readers of a Source that is made from another: some of its rows, rows in memory, rows of another length.

They are classes instead of closures, so that they can be sent to workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lengthened", "Read", "Reindexed", "Rows"]

Read = Callable[[NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True)
class Reindexed:
    """Reads at a list of positions."""

    read: Read
    where: NDArray[np.int64]

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Read the rows at these positions."""
        return self.read(self.where[positions])


@dataclass(frozen=True)
class Rows:
    """Reads rows in memory."""

    values: NDArray[np.float32]

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Read the rows at these positions."""
        return self.values[positions]


@dataclass(frozen=True)
class Lengthened:
    """Reads rows of token ids with zeros added, or the last ones cut off."""

    read: Read
    length: int

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Read the rows at these positions."""
        rows = self.read(positions)[:, : self.length]
        return np.pad(rows, ((0, 0), (0, self.length - rows.shape[1])))
