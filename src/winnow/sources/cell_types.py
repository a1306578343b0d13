"""The types that the cells of a mixed table are brought to, whatever file or frame they come from.

| arrow type | becomes |
|---|---|
| whole numbers, floats, decimals, booleans, times, durations, all missing | float64 (times in seconds) |
| strings | string; empty ones are missing |
| dictionary (a pandas category) | dictionary of strings |
| dates and timestamps | timestamp in microseconds, UTC |
| lists of numbers | list of float32: a vector |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError
from . import column_layout, column_values

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["plain_cells", "plain_schema"]

SECONDS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def plain_schema(table: pa.Table, owner: str) -> pa.Schema:
    """Return the types that the columns of a table are brought to; raise if one of them cannot be used."""
    import pyarrow as pa

    column_layout.usable(table.schema, table.column_names, owner)
    return pa.schema([(field.name, _target(field.type)) for field in table.schema])


def _target(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(kind):
        return pa.dictionary(pa.int32(), pa.string())
    if column_values.holds_strings(kind):
        return pa.string()
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        return pa.timestamp("us")
    return pa.list_(pa.float32()) if column_values.is_vector(kind) else pa.float64()


def plain_cells(table: pa.Table, schema: pa.Schema, owner: str) -> pa.Table:
    """Return the columns of a schema, each in its type.

    Parameters
    ----------
    table
        The cells as they were read.
    schema
        As `plain_schema` gave it, perhaps for other data, such as the training data of a test set.
    owner
        Owner of the cells, named in messages.
    """
    import pyarrow as pa

    columns = []
    for field in schema:
        if field.name not in table.column_names:
            raise DataError(f"{owner} has no column {field.name!r}, which the training data has.")
        column = table.column(field.name)
        try:
            columns.append(_brought(column, field, owner))
        except (pa.ArrowException, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"column {field.name!r} of {owner} holds {column.type}, which cannot be read as the {field.type} of "
                "the training data."
            ) from None
    return pa.Table.from_arrays(columns, schema=schema)


def _brought(column: pa.ChunkedArray, field: pa.Field, owner: str) -> pa.ChunkedArray:
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kinds.is_dictionary(field.type):
        return _words(column).dictionary_encode().cast(field.type)
    if kinds.is_string(field.type):
        return _words(column)
    if kinds.is_timestamp(field.type):
        return _moments(column)
    if column_values.is_vector(field.type):
        return _lists(column, field, owner)
    return _floats(column, field.name, owner)


def _words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as compute

    text = column.cast(pa.string())
    return compute.if_else(compute.equal(compute.utf8_trim_whitespace(text), ""), pa.scalar(None, pa.string()), text)


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.types as kinds

    zone = getattr(column.type, "tz", None) if kinds.is_timestamp(column.type) else None
    found = column.cast(pa.timestamp("us", zone), safe=False)
    return found if zone is None else found.cast(pa.int64()).cast(pa.timestamp("us"))


def _lists(column: pa.ChunkedArray, field: pa.Field, owner: str) -> pa.ChunkedArray:
    import pyarrow as pa

    rows = column_values.vectors(column, field.name, owner)
    bad = int((~np.isfinite(rows)).any(axis=1).sum())
    if bad:
        raise DataError(f"column {field.name!r} of {owner} has {bad} vectors with NaN or infinite numbers; drop them.")
    ends = np.arange(len(rows) + 1, dtype=np.int32) * (rows.shape[1] if rows.size else 0)
    made = pa.ListArray.from_arrays(pa.array(ends), pa.array(rows.reshape(-1), type=pa.float32()))
    return pa.chunked_array([made], type=field.type)


def _floats(column: pa.ChunkedArray, name: str, owner: str) -> pa.ChunkedArray:
    """Numbers as float64, with NaN as a missing value; infinite and too large ones raise."""
    import pyarrow as pa
    import pyarrow.compute as compute

    found = _seconds(column).cast(pa.float64(), safe=False)
    found = compute.if_else(compute.is_nan(found), pa.scalar(None, pa.float64()), found)
    bad = compute.sum(compute.greater(compute.abs(found), float(np.finfo(np.float32).max))).as_py()
    if bad:
        raise DataError(
            f"column {name!r} of {owner} has {bad} values that are infinite or too large for float32; fill or drop "
            "them."
        )
    return found


def _seconds(column: pa.ChunkedArray) -> Any:
    """Times and durations as seconds; other columns as they are."""
    import pyarrow as pa
    import pyarrow.compute as compute
    import pyarrow.types as kinds

    kind = column.type
    if not (kinds.is_time(kind) or kinds.is_duration(kind)):
        return column
    whole = column.cast(pa.int32()).cast(pa.int64()) if kinds.is_time32(kind) else column.cast(pa.int64())
    return compute.divide(whole.cast(pa.float64()), float(SECONDS[kind.unit]))
