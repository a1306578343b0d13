"""Columns in a parquet file, with entries as JSON in the metadata of its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .files import atomic
from .serialiser import Unexpected, expecting

__all__ = ["parquet_header", "read_columns", "write_columns"]

BATCH = 4096  # rows read at a time, so that a large table is in memory only once


def write_columns(path: Path, columns: Mapping[str, Any], about: Mapping[str, Any], block: int = 0) -> None:
    """Write columns of equal length, and the entries as JSON in the metadata of the schema.

    Parameters
    ----------
    path
        The file.
    columns
        Vectors, matrices or lists by name.
    about
        The entries.
    block
        Rows written at a time, as in `layouts.Parquet`; 0 writes all at once.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def arrow(values: Any) -> Any:
        if not isinstance(values, np.ndarray) or values.ndim == 1:
            return pa.array(values)
        if block:
            return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
        return pa.array(list(values))

    header = {"winnow": json.dumps(about, sort_keys=True)}
    how: dict[str, Any] = {"compression": "none", "use_dictionary": False} if block else {}
    count = len(next(iter(columns.values())))
    first = pa.table({name: arrow(values[: block or None]) for name, values in columns.items()})
    schema = first.schema.with_metadata(header)
    with atomic(path) as part, pq.ParquetWriter(part, schema, **how) as file:
        file.write_table(first.replace_schema_metadata(header))
        for start in range(block or count, count, block or 1):
            rows = [arrow(values[start : start + block]) for values in columns.values()]
            file.write_table(pa.table(rows, schema=schema))


def read_columns(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any] | list[Any]]]:
    """Return the entries and the columns: arrays of numbers or text, or lists of lists.

    Arrays are read by dlpack, because the usual way of arrow imports pandas if it is installed.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = parquet_header(path, kind)
    columns: dict[str, NDArray[Any] | list[Any]] = {}
    with pq.ParquetFile(path) as file:
        for one in file.schema_arrow:
            width = (one.type.list_size,) if pa.types.is_fixed_size_list(one.type) else ()
            number = one.type.value_type if width else one.type
            numeric = pa.types.is_integer(number) or pa.types.is_floating(number)
            shape = (file.metadata.num_rows, *width)
            columns[one.name] = np.empty(shape, number.to_pandas_dtype()) if numeric else []
        done = 0
        for batch in file.iter_batches(batch_size=BATCH):
            for name, held in columns.items():
                rows = batch.column(name)
                if isinstance(held, list):
                    held += rows.to_pylist()
                else:
                    numbers = np.from_dlpack(rows.flatten() if held.ndim == 2 else rows)
                    held[done : done + len(batch)] = numbers.reshape(len(batch), *held.shape[1:])
            done += len(batch)
        text = [one.name for one in file.schema_arrow if pa.types.is_string(one.type)]
    return about, columns | {name: np.array(columns[name], dtype=np.str_) for name in text}


def parquet_header(path: str | Path, kind: str) -> dict[str, Any]:
    """Return the entries of a parquet file of this kind, without reading its rows."""
    import pyarrow.parquet as pq

    with expecting(kind, path):
        metadata = pq.read_schema(path).metadata or {}
        found: dict[str, Any] = json.loads(metadata.get(b"winnow", "{}"))
        if found.get("winnow") != kind:
            raise Unexpected(repr(found["winnow"]) if found else "a parquet file that winnow did not write")
    return found
