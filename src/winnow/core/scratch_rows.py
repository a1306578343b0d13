"""Room for rows that are needed for a while: in memory if they are few, otherwise in a file without a name.

A pass over all examples fills such rows batch by batch (`filled_rows`): what it gives may be larger than memory.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .errors import StoreError, reason

__all__ = ["HELD", "SPAN", "filled_rows", "let_go", "map_of", "rows_at", "scratch_rows", "zero_rows"]

HELD = 256 << 20  # bytes that are held in memory
WRITTEN = 32 << 20  # bytes between two times at which written pages are let go
SPAN = 64 << 20  # bytes of a map from which rows are read before its pages are let go


def scratch_rows(shape: tuple[int, ...], dtype: DTypeLike, held: int = HELD) -> NDArray[Any]:
    """Return an array to be filled; above `held` bytes it is a map of a file in the temporary folder.

    The file has no name, so nothing is left behind, however the process ends.

    Parameters
    ----------
    shape, dtype
        Those of the array.
    held
        Bytes up to which it is in memory.

    Raises
    ------
    StoreError
        If there is no room on the disk.

    Examples
    --------
    >>> scratch_rows((3, 2), "float32").shape, type(scratch_rows((3, 2), "float32", held=0)).__name__
    ((3, 2), 'memmap')
    """
    needed = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if needed <= held:
        return np.empty(shape, dtype=dtype)
    directory = Path(tempfile.gettempdir())
    try:
        if shutil.disk_usage(directory).free < 1.1 * needed:
            raise StoreError(
                f"{directory} must have {1.1 * needed / 1e9:.1f} GB free to work in; set TMPDIR to another."
            )
        with tempfile.TemporaryFile(dir=directory) as file:
            return np.memmap(file, dtype, mode="w+", shape=shape)  # keeps the file open by itself
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write to {directory}: {reason(error)}.") from None


def zero_rows(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros, in memory or in such a file."""
    made = scratch_rows(shape, dtype)
    made.fill(0)
    let_go(made)
    return made


def filled_rows(batches: Iterable[NDArray[Any]], count: int) -> NDArray[Any]:
    """Return all rows of some batches, one after the other, in memory or in such a file.

    Parameters
    ----------
    batches
        Arrays with the same columns; at least one.
    count
        The number of all rows.

    Examples
    --------
    >>> filled_rows(iter([np.ones((2, 3)), np.zeros((1, 3))]), 3)[:, 0].tolist()
    [1.0, 1.0, 0.0]
    """
    rows: NDArray[Any] | None = None
    start = read = 0
    for batch in batches:
        if rows is None:
            rows = scratch_rows((count, *batch.shape[1:]), batch.dtype)
        rows[start : start + len(batch)] = batch
        start, read = start + len(batch), read + batch.nbytes
        if read >= WRITTEN:
            let_go(rows)
            read = 0
    assert rows is not None
    assert start == count
    let_go(rows)
    return rows


def let_go(values: NDArray[Any]) -> None:
    """Let the system take back the pages of a map that were read, so that a pass over it keeps the process small.

    Nothing is lost: they are read again when they are needed, from memory if the machine has some to spare. Arrays that
    are no maps are left alone.
    """
    found = map_of(values)
    if found is None or found.mode == "c":  # what is changed in a copy on write is in no file
        return
    if hasattr(mmap, "MADV_DONTNEED"):  # not on every system; then it is left to the system
        found._mmap.madvise(mmap.MADV_DONTNEED)


def rows_at(values: NDArray[Any], positions: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return a copy of the rows at some positions; those of a map are read a part of the file after the other.

    Rows that are scattered over a file would otherwise have all of it in memory: the system maps up to 2 MB around one.

    Parameters
    ----------
    values
        An array, or a map.
    positions
        Positions of rows, in any order.

    Examples
    --------
    >>> rows_at(np.arange(6).reshape(3, 2), np.array([2, 0])).tolist()
    [[4, 5], [0, 1]]
    """
    if map_of(values) is None:
        return np.asarray(values[positions])
    out = np.empty((positions.size, *values.shape[1:]), dtype=values.dtype)
    order = None if bool((positions[1:] >= positions[:-1]).all()) else np.argsort(positions, kind="stable")
    ascending = positions if order is None else positions[order]
    part = ascending // max(1, SPAN // max(1, values[:1].nbytes))
    for where in np.split(np.arange(positions.size), np.flatnonzero(part[1:] != part[:-1]) + 1):
        out[where if order is None else order[where]] = values[ascending[where]]
        let_go(values)
    return out


def map_of(values: Any) -> Any:
    """The map that an array is a view of; None if there is none."""
    while isinstance(values, np.ndarray) and not isinstance(values, np.memmap):
        values = values.base
    return values if isinstance(values, np.memmap) else None
