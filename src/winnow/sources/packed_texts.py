"""Texts as one run of bytes, in a file without a name if they are many: a string object each takes twice as much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.scratch_rows import let_go, scratch_rows
from . import tables
from .memory import Reloaded
from .texts import joined

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PackedTexts", "ReloadedTexts", "packed_texts"]

BLOCK = 65_536  # texts that are string objects at a time
CODE = ("utf-8", "surrogatepass")


@dataclass(frozen=True, eq=False)
class PackedTexts:
    """Texts by position.

    Parameters
    ----------
    values
        All of them in UTF-8, one after the other.
    starts
        Where each begins, and finally where the last ends.
    """

    values: NDArray[np.uint8]
    starts: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.starts.nbytes + (0 if isinstance(self.values, np.memmap) else self.values.nbytes)

    def __getitem__(self, positions: NDArray[np.integer[Any]]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        out = np.empty(positions.size, dtype=object)
        ends = zip(self.starts[positions].tolist(), self.starts[positions + 1].tolist(), strict=True)
        out[:] = [self.values[start:end].tobytes().decode(*CODE) for start, end in ends]
        let_go(self.values)
        return out


@dataclass(frozen=True)
class ReloadedTexts(Reloaded):
    """Reads from the texts returned by `load(*arguments)`."""

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        found: NDArray[np.object_] = self.held[np.asarray(positions, dtype=np.int64)]
        return found


def packed_texts(table: pa.Table, columns: Sequence[str], owner: str) -> PackedTexts:
    """Return one text per row, those of two columns joined; missing texts raise an error per column."""
    import pyarrow.compute as compute

    tables.no_missing_texts(table, columns, owner)
    lengths = [int(compute.sum(compute.binary_length(table.column(name))).as_py() or 0) for name in columns]
    total = sum(lengths) + table.num_rows * len(joined([""] * len(columns)).encode())
    values, starts = scratch_rows((total,), np.uint8), np.zeros(table.num_rows + 1, dtype=np.int64)
    at = 0
    for first in range(0, table.num_rows, BLOCK):
        texts = [one.encode(*CODE) for one in tables.strings(table.slice(first, BLOCK), columns, owner)]
        starts[first + 1 : first + 1 + len(texts)] = at + np.cumsum(list(map(len, texts)))
        some = np.frombuffer(b"".join(texts), dtype=np.uint8)
        values[at : at + some.size] = some
        let_go(values)
        at += some.size
    return PackedTexts(values, starts)
