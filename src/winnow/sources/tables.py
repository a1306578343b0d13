"""Tables: which column is the label, which the id, which are features; shared by frames, CSV, JSONL, parquet and HF.

Features are numbers or booleans and become one float32 row per example, or they are text: the columns named by
`text=`, or a single column of strings beside the label. The label column is the one named by
`labels=`, or the only one called label, labels, target, y or class (in any case); several columns of true and false,
or of 0 and 1, named by `labels=` are several labels per example. A column called `id` gives the ids
and is not a feature: a row number would leak the order of the file into the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, InputError, UnknownNameError
from ..core.parameter_names import of
from .assembly import OpenRequest
from .group_and_time import named_beside
from .texts import joined

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "OWN",
    "ColumnLayout",
    "lay_out",
    "matrix",
    "raw_values",
    "strings",
    "target_pieces",
    "text_columns",
    "unique_ids",
]

LABEL_NAMES = ("label", "labels", "target", "y", "class")
OWN = "winnow_"  # columns that `Subset.export` adds; they are features only if named
NAMED = 4  # how many columns a message names


@dataclass(frozen=True)
class ColumnLayout:
    """The roles of the columns of a table."""

    features: tuple[str, ...]
    label: str | None
    identity: str | None
    identity_asked: bool = False
    several: tuple[str, ...] = ()  # label columns, if there are several
    beside: Mapping[str, str] = field(default_factory=dict)  # the columns of `groups` and `times`

    @property
    def targets(self) -> str | list[str] | None:
        """The label column, or several of them."""
        return list(self.several) or self.label


def lay_out(schema: pa.Schema, asked: OpenRequest, owner: str, *, labelled: bool = False) -> ColumnLayout:
    """Decide the role of each column.

    Parameters
    ----------
    schema
        The arrow schema.
    asked
        The options of `wn.open`.
    owner
        The owner of the columns, named in messages.
    labelled
        Whether the labels are given separately, so that no column needs to hold them.
    """
    names = list(schema.names)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{owner} has more than one column named {twice!r}; rename them.")
    several = () if labelled else asked.label_columns
    for name in several:
        _known(name, names, "labels", owner)
    label = None if labelled or several else label_column(names, asked, owner)
    identity = asked.id_column
    if identity is not None:
        _known(identity, names, "ids", owner)
    elif asked.ids is None and "id" in names and label != "id" and "id" not in (asked.columns or ()):
        identity = "id"
    for name in asked.columns or ():
        _known(name, names, "columns", owner)
    beside = named_beside(asked, names, owner, label)
    apart = {label, identity, *several, *beside.values()}
    usual = asked.columns or [name for name in names if not name.startswith(OWN)]
    features = tuple(name for name in usual if name not in apart)
    return ColumnLayout(features, label, identity, asked.id_column is not None, several, beside)


def label_column(names: Sequence[str], asked: OpenRequest, owner: str) -> str | None:
    """Return the requested column, or the only one with a usual name."""
    if asked.label_column is not None:
        return _known(asked.label_column, names, "labels", owner)
    if asked.task == "unlabelled":
        return None
    found = [name for name in names if name.lower() in LABEL_NAMES and name not in (asked.columns or ())]
    if len(found) > 1:
        raise InputError(
            f"{owner} has {len(found)} columns that may be the label ({', '.join(map(repr, found))}); "
            "name one with labels=."
        )
    return found[0] if found else None


def beside(layout: ColumnLayout, column: Callable[[str], pa.ChunkedArray]) -> dict[str, Any]:
    """Return the columns of groups and times, if any are named, as `Pieces` takes them."""
    return {word: raw_values(column(name)) for word, name in layout.beside.items()}


def _known(name: str, names: Sequence[str], option: str, owner: str) -> str:
    if name not in names:
        raise UnknownNameError.of(f"column in {of(option, 'wn.open')} for {owner}:", name, names)
    return name


def numeric(schema: pa.Schema, layout: ColumnLayout, owner: str) -> tuple[str, ...]:
    """Return the feature columns; raise an error that names those that are not numbers."""
    import pyarrow.types as kinds

    wrong = []
    for name in layout.features:
        kind = schema.field(name).type
        usable = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
        if not any(test(kind) for test in usable):
            wrong.append(f"{name!r} ({kind})")
    if wrong:
        shown = ", ".join(wrong[:NAMED]) + (f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else "")
        raise DataError(
            f"{owner} has feature columns that are not numbers: {shown}; encode them, name the columns to use with "
            "columns= and the target with labels=, or name a column of text with text=."
        )
    if not layout.features:
        raise DataError(f"{owner} has no feature columns besides its label and id.")
    return layout.features


def text_columns(schema: pa.Schema, layout: ColumnLayout, asked: OpenRequest, owner: str) -> tuple[str, ...]:
    """Return the columns of text: those named, or the only feature if it holds strings; none for a table of numbers."""
    import pyarrow.types as kinds

    if asked.text is None:
        only = layout.features if len(layout.features) == 1 else ()
        return only if only and _holds_strings(schema.field(only[0]).type) else ()
    if asked.columns is not None:
        raise InputError(
            f"{of('columns', 'wn.open')} and {of('text', 'wn.open')} cannot be given together; the text is all that "
            "is used."
        )
    for name in asked.text:
        kind = schema.field(_known(name, schema.names, "text", owner)).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        if not _holds_strings(kind):
            raise DataError(f"column {name!r} of {owner} must hold strings to be read as text; it holds {kind}.")
        if name == layout.label:
            raise InputError(f"{of('text', 'wn.open')} must not be the label column of {owner}; got {name!r}.")
    return asked.text


def _holds_strings(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def strings(table: pa.Table, columns: Sequence[str], owner: str) -> NDArray[np.object_]:
    """Return one text per row, those of two columns joined; missing texts raise an error per column."""
    for name in columns:
        missing = table.column(name).null_count
        if missing:
            raise DataError(f"column {name!r} of {owner} has {missing} missing texts; fill or drop them.")
    parts = [table.column(name).to_pylist() for name in columns]
    out = np.empty(table.num_rows, dtype=object)
    out[:] = [joined(row) for row in zip(*parts, strict=True)]
    return out


def matrix(table: pa.Table, features: Sequence[str], owner: str) -> NDArray[np.float32]:
    """Return the features as float32 rows; missing, infinite and too large values raise an error per column."""
    out = np.empty((table.num_rows, len(features)), dtype=np.float32)
    for place, name in enumerate(features):
        column = table.column(name)
        bad = column.null_count
        if not bad:
            with np.errstate(over="ignore"):
                out[:, place] = _numbers(column)
            bad = int((~np.isfinite(out[:, place])).sum())
        if bad:
            raise DataError(
                f"column {name!r} of {owner} has {bad} values that are missing, NaN, infinite or too "
                "large for float32; fill or drop them."
            )
    return out


def _numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of numbers without nulls; arrow's `to_numpy` would import pandas, which takes seconds."""
    import pyarrow as pa
    import pyarrow.types as kinds

    truth = kinds.is_boolean(column.type)
    if truth or kinds.is_decimal(column.type):
        column = column.cast(pa.uint8() if truth else pa.float64())
    parts = [np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)]
    values = np.concatenate(parts) if len(parts) != 1 else parts[0]
    return values.astype(bool) if truth else values


def raw_values(column: pa.ChunkedArray) -> NDArray[Any]:
    """Convert a column to numpy: numbers as they are, categories and text as objects, nulls as None."""
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    plain = kinds.is_integer(column.type) or kinds.is_floating(column.type) or kinds.is_boolean(column.type)
    if (plain or kinds.is_decimal(column.type)) and not column.null_count:
        return _numbers(column)
    out = np.empty(len(column), dtype=object)
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
    if not (_holds_strings(kind) or kinds.is_integer(kind)):
        raise DataError(f"id column {name!r} of {owner} must hold whole numbers or text; it holds {kind}.")
    missing = column.null_count
    repeated = len(column) - missing - compute.count_distinct(column).as_py()
    if missing or repeated:
        what = f"{missing} missing" if missing else f"{repeated} repeated"
        way = (
            ""
            if layout.identity_asked
            else ("; pass ids= to name another column, or rename this one if it is a feature")
        )
        raise DataError(f"id column {name!r} of {owner} has {what} values{way}.")


def id_values(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return an id column as integers or text."""
    values = raw_values(column)
    return values.astype(np.str_) if values.dtype.kind == "O" else values
