"""Room for rows that are needed for a while: in memory if they are few, otherwise in a file without a name."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .errors import StoreError, reason

__all__ = ["HELD", "scratch_rows"]

HELD = 256 << 20  # bytes that are held in memory


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
