"""Tables with strings, categories, dates or missing values: raw cells, and the encoding that makes numbers of them.

Cells are brought to a few types first, so that the same table from CSV, parquet or a frame means the same: numbers
(also booleans, decimals and durations), strings, categories, timestamps, and vectors (lists of numbers). Empty strings
and NaN are missing values.

The encoding is fitted on the rows of the table, at most `FITTED` of them, in an order that depends on their content
alone. So it is a function of the rows, whatever their order or shards: whoever opens the same data again has the same
encoding, and nothing needs to be unpickled. No labels are used.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.raw_rows import RawRows
from ..core.errors import DataError
from ..core.parameter_names import argument
from . import column_layout, column_values, tables
from .cell_types import plain_cells, plain_schema
from .memory import Recent
from .row_keys import Cells, RowContent, key_digest, row_keys, written_cells
from .table_encoder import TableEncoder, fit_encoder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HeldCells", "RawTable", "raw_pieces"]

BLOCK = 65_536  # rows encoded at a time
FITTED = 50_000  # rows that an encoding is fitted on at most
LOOKED = 2000  # rows looked at for identifiers
FEWEST = 20  # rows; fewer may all differ by chance
HELD = 512 << 20  # bytes of encoded rows kept
_whole = Recent(HELD)


def raw_pieces(cells: Cells, count: int, names: tuple[str, ...], owner: str, like: RawRows | None) -> dict[str, Any]:
    """Return what `Pieces` needs to know about a table that must be encoded.

    Parameters
    ----------
    cells
        Returns an arrow table of the features at an array of positions.
    count
        How many rows there are.
    names
        The columns to use.
    owner
        Their owner, named in messages.
    like
        The rows whose encoding to use; if not given, one is fitted.
    """
    if like is None:
        schema = plain_schema(cells(np.arange(min(count, 1))).select(names), owner)
        made = RawTable.fitted(cells, schema, row_keys(cells, schema, count, owner), owner)
        _warn_of_identifiers(made)
    else:
        assert isinstance(like, RawTable)
        made = replace(
            like, cells_at=cells, keys=row_keys(cells, like.schema, count, owner), owner=owner, borrowed=True
        )
    return {
        "read": made.read,
        "shape": (len(made.columns),),
        "kind": "table",
        "columns": made.columns,
        "content": RowContent(made.keys),
        "raw": made,
    }


@dataclass(frozen=True, eq=False)
class HeldCells:
    """Reads cells of a table in memory."""

    table: pa.Table

    def __call__(self, positions: NDArray[np.int64]) -> pa.Table:
        """Return the rows at these positions."""
        return self.table.take(np.asarray(positions))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Reads cells at a list of positions."""

    cells_at: Cells
    where: NDArray[np.int64]

    def __call__(self, positions: NDArray[np.int64]) -> pa.Table:
        return self.cells_at(self.where[positions])


@dataclass(frozen=True, eq=False)
class _FitRows:
    """Reads the rows that an encoding is fitted on."""

    cells_at: Cells
    where: NDArray[np.int64]
    schema: pa.Schema
    owner: str

    def __call__(self) -> pa.Table:
        return plain_cells(self.cells_at(self.where), self.schema, self.owner)


@dataclass(frozen=True, eq=False)
class _Joined:
    """Reads cells of two tables as if their rows stood one after the other."""

    first: RawTable
    second: RawTable

    def __call__(self, positions: NDArray[np.int64]) -> pa.Table:
        import pyarrow as pa

        n, schema = self.first.keys.size, self.first.schema
        later = positions >= n
        parts = [
            plain_cells(one.cells_at(where), schema, one.owner)
            for one, where in ((self.first, positions[~later]), (self.second, positions[later] - n))
        ]
        order = np.argsort(np.concatenate([np.flatnonzero(~later), np.flatnonzero(later)]), kind="stable")
        return pa.concat_tables(part.unify_dictionaries() for part in parts).combine_chunks().take(order)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Reads encoded rows; all of them are encoded together, once per process, if they fit: single calls are slow."""

    rows: RawTable

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the inputs at these positions."""
        count, width = self.rows.keys.size, len(self.rows.columns)
        if count * width * 4 > HELD:
            return self._encoded(np.asarray(positions))
        whole: NDArray[np.float32] = _whole.get((key_digest(self.rows.keys), self.rows.digest), self._everything)
        return whole[positions]

    def _encoded(self, where: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.rows.encoder(plain_cells(self.rows.cells_at(where), self.rows.schema, self.rows.owner))

    def _everything(self) -> NDArray[np.float32]:
        out = np.empty((self.rows.keys.size, len(self.rows.columns)), dtype=np.float32)
        for start in range(0, len(out), BLOCK):
            where = np.arange(start, min(start + BLOCK, len(out)))
            out[where] = self._encoded(where)
        return out


@dataclass(frozen=True, eq=False)
class RawTable:
    """The raw rows of a table and their encoding; see `RawRows`.

    Parameters
    ----------
    cells_at
        Returns an arrow table of the raw cells at an array of positions.
    schema
        The types that cells are brought to.
    keys
        One hash per row.
    encoder
        The fitted encoding.
    owner
        Owner of the rows, named in messages.
    borrowed
        Whether the encoding is that of other data, such as the training data of a test set.
    """

    cells_at: Cells
    schema: pa.Schema
    keys: NDArray[np.uint64]
    encoder: TableEncoder
    owner: str
    borrowed: bool = False

    @classmethod
    def fitted(cls, cells_at: Cells, schema: pa.Schema, keys: NDArray[np.uint64], owner: str) -> RawTable:
        """Fit an encoding to these rows, in the order of their hashes."""
        order = np.argsort(keys, kind="stable")[:FITTED]
        about = {"rows": int(keys.size), "fitted_on": int(order.size), "content": key_digest(np.sort(keys))}
        return cls(cells_at, schema, keys, fit_encoder(_FitRows(cells_at, order, schema, owner), owner, about), owner)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the raw columns."""
        return tuple(self.schema.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numbers of an encoded row."""
        return self.encoder.columns

    @property
    def parts(self) -> tuple[str, ...]:
        """The raw column that each number of an encoded row comes from."""
        return self.encoder.parts

    def kind(self, name: str) -> str:
        """What a raw column is: `number`, `date`, `category`, `string` (with many values) or `vector`."""
        return str(self.record["columns"][name]["kind"])

    @property
    def record(self) -> dict[str, Any]:
        """The encoding, column by column."""
        return self.encoder.record

    @property
    def digest(self) -> str:
        """Fingerprint of the encoding."""
        return self.encoder.digest

    @property
    def read(self) -> EncodedRows:
        """Reads encoded rows."""
        return EncodedRows(self)

    def at(self, where: NDArray[np.int64]) -> RawTable:
        """Return the rows at these positions, with the same encoding."""
        return replace(self, cells_at=_Chosen(self.cells_at, where), keys=self.keys[where])

    def refitted(self) -> RawTable:
        """Return the same rows with the encoding fitted to them, unless it is that of other data."""
        return self if self.borrowed else RawTable.fitted(self.cells_at, self.schema, self.keys, self.owner)

    def encoded_as(self, other: RawRows) -> RawTable:
        """Return the same rows in the encoding of another table."""
        assert isinstance(other, RawTable)
        if self.digest == other.digest and self.borrowed:
            return self
        keys = row_keys(self.cells_at, other.schema, self.keys.size, self.owner)
        return replace(other, cells_at=self.cells_at, keys=keys, owner=self.owner, borrowed=True)

    def with_numbers(self, names: tuple[str, ...], values: NDArray[np.float32], owner: str) -> RawTable:
        """Return rows of plain numbers in this encoding."""
        import pyarrow as pa

        cells = HeldCells(pa.table({name: values[:, place] for place, name in enumerate(names)}))
        keys = row_keys(cells, self.schema, len(values), owner)
        return replace(self, cells_at=cells, keys=keys, owner=owner, borrowed=True)

    def plain(self, names: tuple[str, ...]) -> NDArray[np.float32]:
        """Return columns that are all numbers without an encoding, or raise."""
        table = self.cells_at(np.arange(self.keys.size))
        absent = [name for name in names if name not in table.column_names]
        if absent:
            raise DataError(f"{self.owner} has no column {absent[0]!r}, which the training data has.")
        layout = column_layout.ColumnLayout(names, None, None)
        return tables.matrix(table, column_layout.numeric(table.schema, layout, self.owner), self.owner)

    def cells(self, positions: NDArray[np.int64]) -> dict[str, Any]:
        """Return the raw cells by column, for a data frame."""
        found = self.cells_at(positions)
        return {name: found.column(name).to_pandas() for name in self.names}

    def joined(self, other: RawRows) -> RawTable:
        """Return these rows and then those of a table in the same encoding."""
        assert isinstance(other, RawTable)
        return replace(self, cells_at=_Joined(self, other), keys=np.concatenate([self.keys, other.keys]))

    def codes(self) -> dict[str, NDArray[np.float64]]:
        """Return every column as numbers that are equal where cells are: quantities as they are, ranks otherwise."""
        found = plain_cells(self.cells_at(np.arange(self.keys.size)), self.schema, self.owner)
        made = self.quantities()
        for name in self.names:
            if name not in made:
                written = [repr(cell) for cell in written_cells(found.column(name))]
                made[name] = np.unique(written, return_inverse=True)[1].astype(np.float64)
        return {name: made[name] for name in self.names}

    def quantities(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns of numbers, NaN where a value is missing."""
        import pyarrow as pa

        names = [field.name for field in self.schema if field.type == pa.float64()]
        found = plain_cells(self.cells_at(np.arange(self.keys.size)), self.schema, self.owner)
        return {name: column_values.floats(found.column(name)) for name in names}

    def missing(self) -> dict[str, NDArray[np.bool_]]:
        """Return where the values of each column are missing."""
        found = plain_cells(self.cells_at(np.arange(self.keys.size)), self.schema, self.owner)
        return {name: column_values.absent(found.column(name)) for name in self.names}


def _warn_of_identifiers(rows: RawTable) -> None:
    """Warn of single words that differ in every row: a model would learn the rows by heart."""
    some = np.argsort(rows.keys, kind="stable")[:LOOKED]
    found = plain_cells(rows.cells_at(some), rows.schema, rows.owner)
    for name in rows.names:
        if len(some) >= FEWEST and column_values.like_identifiers(found.column(name)):
            warnings.warn(
                f"column {name!r} of {rows.owner} has a different string in every row, as ids have: name it in "
                f"{argument('ids', 'wn.open')} if it is one, or in {argument('drop', 'wn.open')} to leave it out",
                stacklevel=2,
            )
