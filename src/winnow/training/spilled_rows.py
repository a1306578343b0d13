"""Decoded examples that do not fit into memory: written once to a file without a name, and mapped from it.

Pages that were read are let go again and again, so that the process stays small; what the machine has to spare keeps
them at hand. If there is no room on the disk either, nothing is spilled and examples are decoded batch by batch.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.errors import StoreError
from ..core.progress import track
from ..core.scratch_rows import let_go, scratch_rows

__all__ = ["SpilledRows", "spill"]

CHUNK = 1024  # examples decoded at a time
LET_GO = 256 << 20  # bytes read between two times at which pages are let go


class SpilledRows:
    """The examples of a source in a file, sorted by id; a reader of the Source, by its positions.

    Parameters
    ----------
    source
        The examples, decoded once, in the order of the source.
    shape, dtype
        Those of all of them.
    """

    def __init__(self, source: Source, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.values: NDArray[Any] = scratch_rows(shape, dtype, held=0)
        self._touched = 0
        self._place = np.argsort(source.order)  # of each example in the file
        for start in track(range(0, shape[0], CHUNK), f"writing {source.name} to disk"):
            where = np.arange(start, min(start + CHUNK, shape[0]))
            self.values[self._place[where]] = source.read(where)
            self._count(where.size)

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The examples at these positions, copied."""
        self._count(positions.size)
        return np.asarray(self.values[self._place[positions]])

    def _count(self, rows: int) -> None:
        self._touched += rows * max(mmap.PAGESIZE, self.values[:1].nbytes)
        if self._touched > LET_GO:
            let_go(self.values)
            self._touched = 0


def spill(source: Source) -> SpilledRows | None:
    """Write a source's decoded examples to a file; None if there is no room for them."""
    first = source.read(np.zeros(1, dtype=np.int64))
    try:
        return SpilledRows(source, (len(source), *first.shape[1:]), first.dtype)
    except StoreError:
        return None
