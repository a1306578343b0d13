"""The quality of one trained model on each test example, packed: one bit per example if they are right or wrong.

Class numbers, of labels or predictions, take one byte each, or as many as they need.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed", "packed_classes", "unpacked", "unpacked_classes"]


def packed(values: Sequence[float], *, binary: bool) -> bytes | None:
    """Pack the qualities; None if there are none.

    Parameters
    ----------
    values
        One per test example, in canonical order.
    binary
        Whether they are right or wrong, 1 or 0.
    """
    if not len(values):
        return None
    if not binary:
        return np.asarray(values, dtype="<f4").tobytes()
    count = np.array([len(values)], dtype="<u4").tobytes()
    return count + np.packbits(np.asarray(values, dtype=bool)).tobytes()


def unpacked(marks: bytes, *, binary: bool) -> NDArray[np.float64]:
    """Return what `packed` packed.

    >>> unpacked(packed([1, 0, 1], binary=True), binary=True).tolist()
    [1.0, 0.0, 1.0]
    """
    if not binary:
        return np.frombuffer(marks, dtype="<f4").astype(np.float64)
    count = int(np.frombuffer(marks[:4], dtype="<u4")[0])
    return np.unpackbits(np.frombuffer(marks[4:], dtype=np.uint8), count=count).astype(np.float64)


def packed_classes(values: Sequence[int] | NDArray[np.integer]) -> bytes:
    """Pack class numbers; the first byte says how many bytes each takes.

    >>> unpacked_classes(packed_classes([3, 0, 300])).tolist()
    [3, 0, 300]
    """
    found = np.asarray(values)
    width = next(size for size in (1, 2, 4) if found.size == 0 or int(found.max()) < 256**size)
    return bytes([width]) + found.astype(f"<u{width}").tobytes()


def unpacked_classes(packed: bytes) -> NDArray[np.int64]:
    """Return what `packed_classes` packed."""
    return np.frombuffer(packed[1:], dtype=f"<u{packed[0]}").astype(np.int64)
