"""Tables on disk: one parquet file with JSON beside its columns, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import StoreError
from ..core.files import atomic

__all__ = ["read_table", "write_table"]


def write_table(path: str | Path, kind: str, columns: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write `columns` with `about` as schema metadata; the same content gives the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    header = json.dumps({"winnow": kind, **about}, sort_keys=True)
    with atomic(path) as part:
        pq.write_table(table.replace_schema_metadata({"winnow": header}), part)


def read_table(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns (as numpy arrays) and `about` of a file that `write_table` wrote for this kind."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[b"winnow"])
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        reason = str(error).split(". ")[0].rstrip(".") or type(error).__name__
        raise StoreError(f"{path} is not a file of winnow {kind}: {reason}.") from None
    if about.get("winnow") != kind:
        raise StoreError(f"{path} holds {about.get('winnow')!r}, not {kind}.")
    return {name: _column(table[name]) for name in table.column_names}, about


def _column(column: Any) -> NDArray[Any]:
    """A column as an array; by dlpack, because arrow's own way imports pandas wherever it is installed."""
    import pyarrow as pa

    whole = column.combine_chunks()
    if pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type):
        return np.from_dlpack(whole).copy()
    values = whole.to_pylist()
    if pa.types.is_string(whole.type):
        return np.array(values, dtype=np.str_)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
