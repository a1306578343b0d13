"""Keys of raw rows: a hash of the cells of each, the same whatever file or frame, order or shard the row came from.

Ids, the order that an encoding is fitted in and the seal of a source follow from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.progress import track
from . import column_values
from .cell_types import plain_cells

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cells", "RowContent", "key_digest", "row_keys", "written_cells"]

BLOCK = 65_536  # rows hashed at a time
Cells = Callable[[NDArray[np.int64]], Any]  # an arrow table of the raw cells at an array of positions


def row_keys(cells: Cells, schema: pa.Schema, count: int, owner: str) -> NDArray[np.uint64]:
    """Return a hash of the cells of every row; numbers count as float32, as in a table of numbers."""
    out = np.empty(count, dtype=np.uint64)
    for start in track(range(0, count, BLOCK), f"reading {owner}"):
        where = np.arange(start, min(start + BLOCK, count))
        found = plain_cells(cells(where), schema, owner)
        rows = zip(*(written_cells(found.column(name)) for name in schema.names), strict=True)
        digests = b"".join(hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=8).digest()
                           for row in rows)  # fmt: skip
        out[where] = np.frombuffer(digests, dtype="<u8")
    return out


def written_cells(column: pa.ChunkedArray) -> list[Any]:
    """Return the cells of a column as values whose `repr` says all."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if column.type == pa.float64():
        values = column_values.floats(column).astype(np.float32) + np.float32(0.0)  # minus zero equals zero
        return [None if value != value else value for value in values.tolist()]
    if kinds.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column_values.is_vector(column.type):
        return [row.tobytes() for row in column_values.vectors(column, "", "")]
    return list(column.to_pylist())


def key_digest(keys: NDArray[np.uint64]) -> str:
    """Return a digest of keys in this order."""
    return hashlib.blake2b(np.ascontiguousarray(keys).tobytes(), digest_size=12).hexdigest()


@dataclass(frozen=True, eq=False)
class RowContent:
    """The content of each row, as far as its hash tells."""

    keys: NDArray[np.uint64]

    def __call__(self) -> Iterator[bytes]:
        """Yield one item per row, in order."""
        for key in self.keys:
            yield key.tobytes()
