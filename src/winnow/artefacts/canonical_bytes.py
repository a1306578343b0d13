"""Ids and arrays in the order of the ids, as bytes for a fingerprint, some rows at a time.

A fingerprint of a million examples must not need a second copy of what it is of. The bytes are those of the whole:
ids as text with a newline between them, arrays in C order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import Pieces
from ..core.scratch_rows import let_go

__all__ = ["array_bytes", "id_bytes"]

ROWS = 1 << 16
BYTES = 16 << 20


def id_bytes(ids: NDArray[Any], order: NDArray[np.int64] | None) -> Pieces:
    """The ids in this order, as lines of text; as they are if it is None."""

    def each() -> Iterator[bytes]:
        for start, rows in _blocks(ids, order):
            text = "\n".join(map(str, rows.tolist())).encode()
            yield text if start == 0 else b"\n" + text

    return Pieces(sum(map(len, each())), each)


def array_bytes(values: NDArray[Any], order: NDArray[np.int64] | None, axis: int = 0) -> Pieces:
    """An array with its rows, along an axis, in this order."""

    def each() -> Iterator[bytes]:
        for index in itertools.product(*map(range, values.shape[:axis])):
            for _, rows in _blocks(values[index], order):
                yield np.ascontiguousarray(rows).tobytes()

    return Pieces(values.nbytes, each)


def _blocks(rows: NDArray[Any], order: NDArray[np.int64] | None) -> Iterator[tuple[int, NDArray[Any]]]:
    some = max(1, min(ROWS, BYTES // max(1, rows[:1].nbytes)))
    for start in range(0, len(rows), some):
        part = slice(start, start + some)
        yield start, rows[part] if order is None else rows[order[part]]
        let_go(rows)
