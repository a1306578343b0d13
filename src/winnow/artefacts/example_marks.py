"""The quality of one trained model on each test example, packed: one bit per example if they are right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed", "unpacked"]


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
