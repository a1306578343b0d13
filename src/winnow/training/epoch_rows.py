"""Vectors of finished epochs, one after the other: in memory, or in a file that vanishes with its last reader."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..core.errors import StoreError, reason

__all__ = ["EpochRows"]


class EpochRows:
    """One array of the dynamics: a vector of n numbers per finished epoch.

    Parameters
    ----------
    n
        Numbers per epoch.
    dtype
        Their type.
    directory
        Where the file is; None keeps everything in memory. It has no name there, so nothing is left behind, however
        the process ends.

    Examples
    --------
    >>> rows = EpochRows(2, "float32")
    >>> rows.append(np.array([1.0, 2.0]))
    >>> rows.stacked().shape
    (1, 2)
    """

    def __init__(self, n: int, dtype: DTypeLike, directory: Path | None = None) -> None:
        self._n, self._dtype = n, np.dtype(dtype)
        self._held = np.empty((0, n), dtype=self._dtype)  # with room for more epochs than there are
        self._file: IO[bytes] | None = None
        self._count = 0
        if directory is not None:
            try:
                self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            except OSError as error:
                raise StoreError(f"cannot write epochs to {directory}: {reason(error)}.") from None

    def __len__(self) -> int:
        return self._count

    def append(self, values: NDArray[Any]) -> None:
        """Add the vector of an epoch."""
        if self._file is None:
            if self._count == len(self._held):
                room = np.empty((self._count + max(4, self._count // 2), self._n), dtype=self._dtype)
                room[: self._count] = self._held
                self._held = room
            self._held[self._count] = values
        else:
            row = np.ascontiguousarray(values, dtype=self._dtype)
            try:
                self._file.seek(self._count * row.nbytes)
                self._file.write(row.data)
                self._file.flush()
            except OSError as error:
                raise StoreError(f"cannot write epoch {self._count + 1}: {reason(error)}.") from None
        self._count += 1

    def last(self) -> NDArray[Any]:
        """The vector of the last epoch."""
        return np.asarray(self.stacked()[-1])

    def stacked(self) -> NDArray[Any]:
        """All vectors: epochs x n, read-only; later ones are added without changing these."""
        if self._file is not None and self._count:
            return np.memmap(self._file, self._dtype, mode="r", shape=(self._count, self._n))
        view = self._held[: self._count]
        view.flags.writeable = False
        return view
