"""Columns of arrow tables as numpy arrays: numbers, vectors, and where values are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "absent",
    "feature_names",
    "floats",
    "holds_strings",
    "holes",
    "is_number",
    "is_vector",
    "like_identifiers",
    "numbers",
    "vector_widths",
    "vectors",
]


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers or booleans."""
    import pyarrow.types as kinds

    return any(test(kind) for test in (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal))


def is_vector(kind: pa.DataType) -> bool:
    """Whether a column holds lists of numbers."""
    import pyarrow.types as kinds

    lists = (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list)
    return any(test(kind) for test in lists) and is_number(kind.value_type)


def holds_strings(kind: pa.DataType) -> bool:
    """Whether a column holds strings."""
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def vectors(column: pa.ChunkedArray, name: str, owner: str, width: int | None = None) -> NDArray[np.float32]:
    """Return a column of lists as float32 rows; missing ones and those of another length raise."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if column.null_count:
        raise DataError(f"column {name!r} of {owner} has {column.null_count} missing vectors; fill or drop them.")
    lengths = numbers(compute.list_value_length(column).cast(pa.int64()))
    wanted = width if width is not None else int(lengths[0]) if lengths.size else 0
    other = np.flatnonzero(lengths != wanted)
    if other.size:
        raise DataError(
            f"column {name!r} of {owner} must hold lists of one length to be read as vectors; got lengths "
            f"{wanted} and {int(lengths[other[0]])}."
        )
    if lengths.size and not wanted:
        raise DataError(f"column {name!r} of {owner} holds empty lists, which cannot be read as vectors; drop it.")
    flat = compute.list_flatten(column)
    missing = flat.null_count
    if missing:
        raise DataError(f"column {name!r} of {owner} has {missing} missing numbers in its vectors; fill or drop them.")
    with np.errstate(over="ignore"):
        return numbers(flat).astype(np.float32).reshape(len(column), wanted)


def vector_widths(
    schema: pa.Schema, features: Sequence[str], first: Callable[[str], pa.ChunkedArray]
) -> dict[str, int]:
    """Return how long the vectors of each column of lists are; `first` returns the first cells of a column."""
    found = {}
    for name in features:
        if is_vector(kind := schema.field(name).type):
            fixed = getattr(kind, "list_size", None)
            found[name] = int(fixed) if fixed is not None else len(first(name)[0].as_py() or ())
    return found


def feature_names(widths: Mapping[str, int], features: Sequence[str]) -> tuple[str, ...]:
    """Return one name per number of a row: that of its column, with the place in a vector."""
    found: list[str] = []
    for name in features:
        found += [f"{name}[{place}]" for place in range(widths[name])] if name in widths else [name]
    return tuple(found)


def numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of numbers without nulls; arrow's `to_numpy` would import pandas, which takes seconds."""
    import pyarrow as pa
    import pyarrow.types as kinds

    truth = kinds.is_boolean(column.type)
    if truth or kinds.is_decimal(column.type):
        column = column.cast(pa.uint8() if truth else pa.float64())
    parts = [np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)]
    values = np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else np.zeros(0)
    return values.astype(bool) if truth else values


def floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column of floats, NaN where a value is missing."""
    return np.asarray(numbers(column.fill_null(float("nan"))), dtype=np.float64)


def absent(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where the values of a column are missing."""
    import pyarrow as pa

    return np.asarray(numbers(pa.chunked_array([chunk.is_null() for chunk in column.chunks], pa.bool_())), dtype=bool)


def holes(column: pa.ChunkedArray) -> int:
    """The number of missing values of a column, NaN included."""
    import pyarrow.compute as compute
    import pyarrow.types as kinds

    nan = compute.sum(compute.is_nan(column)).as_py() if kinds.is_floating(column.type) else 0
    return int(column.null_count) + int(nan or 0)


def like_identifiers(column: pa.ChunkedArray) -> bool:
    """Whether a column has a different word in every row, as ids have; texts of several words do not count."""
    import pyarrow.compute as compute

    if not holds_strings(column.type) or column.null_count or compute.count_distinct(column).as_py() < len(column):
        return False
    spaces = compute.sum(compute.greater(compute.count_substring(column, " "), 0)).as_py()
    return int(spaces) < len(column) / 2
