"""The cells of a table as what a Source is made of: rows of numbers, texts, targets and ids.

Shared by frames, CSV, JSONL, parquet and HF; `column_layout` says which column is what. Numbers, booleans and vectors
(lists of numbers) become one float32 row per example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, InputError
from ..core.parameter_names import argument, of
from .assembly import OpenRequest
from .column_layout import ColumnLayout
from .column_values import holds_strings, is_vector, numbers, vectors
from .texts import joined

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["beside", "id_values", "matrix", "no_missing_texts", "raw_values", "strings", "target_pieces", "unique_ids"]


def no_missing_texts(table: pa.Table, columns: Sequence[str], owner: str) -> None:
    """Raise an error that names a column of text with missing values."""
    for name in columns:
        missing = table.column(name).null_count
        if missing:
            raise DataError(f"column {name!r} of {owner} has {missing} missing texts; fill or drop them.")


def strings(table: pa.Table, columns: Sequence[str], owner: str) -> NDArray[np.object_]:
    """Return one text per row, those of two columns joined; missing texts raise an error per column."""
    no_missing_texts(table, columns, owner)
    parts = [table.column(name).to_pylist() for name in columns]
    out = np.empty(table.num_rows, dtype=object)
    out[:] = [joined(row) for row in zip(*parts, strict=True)]
    return out


def matrix(
    table: pa.Table, features: Sequence[str], owner: str, widths: Mapping[str, int] | None = None
) -> NDArray[np.float32]:
    """Return the features as float32 rows; missing, infinite and too large values raise an error per column.

    Parameters
    ----------
    table
        The cells.
    features
        Columns of numbers or vectors.
    owner
        Their owner, named in messages.
    widths
        How long vectors are, by column; if not given, as long as the first of each.
    """
    parts = [
        vectors(table.column(name), name, owner, (widths or {}).get(name))
        if is_vector(table.schema.field(name).type)
        else None
        for name in features
    ]
    out = np.empty((table.num_rows, sum(1 if part is None else part.shape[1] for part in parts)), dtype=np.float32)
    place = 0
    for name, part in zip(features, parts, strict=True):
        width = 1 if part is None else part.shape[1]
        bad = 0
        if part is not None:
            out[:, place : place + width] = part
        else:
            column = table.column(name)
            bad = column.null_count
            if not bad:
                with np.errstate(over="ignore"):
                    out[:, place] = numbers(column)
        bad = bad or int((~np.isfinite(out[:, place : place + width])).sum())
        if bad:
            raise DataError(
                f"column {name!r} of {owner} has {bad} value(s) that are missing, NaN, infinite or too "
                "large for float32; fill or drop them."
            )
        place += width
    return out


def raw_values(column: pa.ChunkedArray) -> NDArray[Any]:
    """Convert a column to numpy: numbers as they are, categories and text as objects, nulls as None."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    plain = kinds.is_integer(column.type) or kinds.is_floating(column.type) or kinds.is_boolean(column.type)
    if (plain or kinds.is_decimal(column.type)) and not column.null_count:
        return numbers(column)
    out = np.empty(len(column), dtype=object)
    if kinds.is_string(column.type) or kinds.is_large_string(
        column.type
    ):  # each different string is one object, however often it occurs
        start = 0
        for chunk in column.chunks:
            coded = chunk.dictionary_encode()
            words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)  # the last one is for nulls
            places = coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
            out[start : start + len(chunk)] = words[places]
            start += len(chunk)
        return out
    for place, value in enumerate(column.to_pylist()):  # one by one, because a value may be a list
        out[place] = value
    return out


def target_pieces(
    layout: ColumnLayout, column: Callable[[str], pa.ChunkedArray], asked: OpenRequest, owner: str
) -> dict[str, Any]:
    """Return what `Pieces` needs to know about the targets of a table.

    Parameters
    ----------
    layout
        The roles of the columns.
    column
        Reads a column by name.
    asked
        The options of `wn.open`.
    owner
        The owner of the columns, named in messages.
    """
    if not layout.several:
        return {"target": None if layout.label is None else raw_values(column(layout.label))}
    if asked.task not in (None, "multilabel", "unlabelled"):
        raise InputError(
            f"{of('labels', 'wn.open')} must be one column for a {asked.task}; several columns are for multilabel."
        )
    parts = [_truth(raw_values(column(name)), name, owner) for name in layout.several]
    return {"target": np.stack(parts, axis=1), "task": "multilabel", "class_names": layout.several}


def beside(layout: ColumnLayout, column: Callable[[str], pa.ChunkedArray]) -> dict[str, Any]:
    """Return the columns of groups and times, if any are named, as `Pieces` takes them."""
    return {word: raw_values(column(name)) for word, name in layout.beside.items()}


def _truth(values: NDArray[Any], name: str, owner: str) -> NDArray[np.uint8]:
    """A column of true and false, or of 0 and 1."""
    whole = values.dtype.kind in "biuf"
    if not whole or not ((values == 0) | (values == 1)).all():
        got = "missing values or text" if not whole else f"{values[(values != 0) & (values != 1)][0]:g}"
        raise DataError(f"label column {name!r} of {owner} must hold true and false, or 0 and 1; got {got}.")
    return values.astype(np.uint8)


def unique_ids(column: pa.ChunkedArray, layout: ColumnLayout, owner: str) -> None:
    """Raise if an id column has repeated or missing values."""
    import pyarrow.compute as compute
    import pyarrow.types as kinds

    name, kind = layout.identity, column.type
    if not (holds_strings(kind) or kinds.is_integer(kind)):
        raise DataError(f"id column {name!r} of {owner} must hold whole numbers or text; it holds {kind}.")
    missing = column.null_count
    repeated = 0
    if not kinds.is_integer(kind):
        repeated = len(column) - missing - compute.count_distinct(column).as_py()
    elif not missing:  # a table of all numbers would take 150 bytes each
        values = numbers(column)
        if not bool((values[1:] > values[:-1]).all()):
            values = np.sort(values)
            repeated = int((values[1:] == values[:-1]).sum())
    if missing or repeated:
        what = f"{missing} missing" if missing else f"{repeated} repeated"
        way = (
            ""
            if layout.identity_asked
            else (f"; give {argument('ids', 'wn.open')} to name another column, or rename this one if it is a feature")
        )
        raise DataError(f"id column {name!r} of {owner} has {what} value(s){way}.")


def id_values(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return an id column as integers or text."""
    values = raw_values(column)
    return values.astype(np.str_) if values.dtype.kind == "O" else values
