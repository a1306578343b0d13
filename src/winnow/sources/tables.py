"""Tables: which column is the label, which the id, which are features; shared by frames, CSV, JSONL, parquet and HF.

Features are numbers, booleans or vectors (lists of numbers) and become one float32 row per example; or they are text:
the columns named by `text=`, or a single column of strings beside the label. A table with strings, dates or missing
values beside others is encoded (`raw_table`). The label column is the one named by `labels=`, or the only one called
label, labels, target, y or class (in any case); several columns of true and false, or of 0 and 1, named by `labels=`
are several labels per example. A column called `id` gives the ids and is not a feature: a row number would leak the
order of the file into the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, InputError, UnknownNameError
from ..core.parameter_names import argument, of
from .assembly import OpenRequest
from .column_values import holds_strings, is_number, is_vector, numbers, vectors
from .group_and_time import named_beside
from .texts import joined

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "OWN",
    "ColumnLayout",
    "lay_out",
    "matrix",
    "must_be_encoded",
    "no_missing_texts",
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
    elif (
        asked.ids is None
        and "id" in names
        and label != "id"
        and "id" not in (*(asked.columns or ()), *(asked.drop or ()))
    ):
        identity = "id"
    for option, words in (("columns", asked.columns), ("drop", asked.drop)):
        for name in words or ():
            _known(name, names, option, owner)
    beside = named_beside(asked, names, owner, label)
    apart = {label, *several, *beside.values()}
    for name in asked.drop or ():
        if name in (*apart, *(asked.columns or ()), *(asked.text or ())) or name == asked.id_column:
            raise InputError(f"{of('drop', 'wn.open')} must not name a column that is used; got {name!r}.")
    unused = {*apart, identity, *(asked.drop or ())}
    usual = [name for name in names if not name.startswith(OWN)]
    wanted = _columns_like(asked, names, owner) or asked.columns or usual
    features = tuple(name for name in wanted if name not in unused)
    return ColumnLayout(features, label, identity, asked.id_column is not None, several, beside)


def label_column(names: Sequence[str], asked: OpenRequest, owner: str) -> str | None:
    """Return the requested column, or the only one with a usual name."""
    if asked.label_column is not None:
        return _known(asked.label_column, names, "labels", owner)
    if asked.task == "unlabelled":
        return None
    other = (*(asked.columns or ()), *(asked.drop or ()))
    found = [name for name in names if name.lower() in LABEL_NAMES and name not in other]
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


def _columns_like(asked: OpenRequest, names: Sequence[str], owner: str) -> tuple[str, ...] | None:
    """The raw columns of the source whose encoding is to be used."""
    if asked.fitted_encoding is None:
        return None
    absent = [name for name in asked.fitted_encoding.names if name not in names]
    if absent:
        raise DataError(f"{owner} has no column {absent[0]!r}, which the training data has.")
    return asked.fitted_encoding.names


def must_be_encoded(schema: pa.Schema, layout: ColumnLayout, asked: OpenRequest, holes: Callable[[str], int]) -> bool:
    """Whether a table must be encoded: it has columns that are not numbers, or missing values.

    Parameters
    ----------
    schema
        The arrow schema.
    layout
        The roles of the columns.
    asked
        The options of `wn.open`: a table opened like another one is encoded if that one is.
    holes
        Returns the number of missing values of a column.
    """
    if asked.like is not None and asked.like.kind == "table":
        return asked.fitted_encoding is not None
    kinds = [(name, schema.field(name).type) for name in layout.features]
    return any(not (is_number(kind) or is_vector(kind)) or (is_number(kind) and holes(name)) for name, kind in kinds)


def numeric(schema: pa.Schema, layout: ColumnLayout, owner: str) -> tuple[str, ...]:
    """Return the feature columns of a table of numbers; raise an error that names those that are not."""
    wrong = [
        f"{name!r} ({kind})"
        for name in layout.features
        if not (is_number(kind := schema.field(name).type) or is_vector(kind))
    ]
    if wrong:
        raise DataError(
            f"{owner} has feature columns that are not numbers: {_few(wrong)}; the training data has numbers there."
        )
    if not layout.features:
        raise DataError(f"{owner} has no feature columns besides its label and id.")
    return layout.features


def usable(schema: pa.Schema, names: Sequence[str], owner: str) -> None:
    """Raise an error that names columns which cannot be made features."""
    import pyarrow.types as kinds

    wrong = []
    for name in names:
        kind = schema.field(name).type
        inner = kind.value_type if kinds.is_dictionary(kind) else kind
        tests = (is_number, is_vector, holds_strings, kinds.is_temporal, kinds.is_null)
        if kinds.is_interval(inner) or not any(test(inner) for test in tests):
            wrong.append(f"{name!r} ({kind})")
    if wrong:
        raise DataError(
            f"{owner} has columns that are neither numbers, strings, dates nor lists of numbers: {_few(wrong)}; leave "
            "them out with drop=, or name the columns to use with columns=."
        )


def _few(wrong: Sequence[str]) -> str:
    return ", ".join(wrong[:NAMED]) + (f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else "")


def text_columns(schema: pa.Schema, layout: ColumnLayout, asked: OpenRequest, owner: str) -> tuple[str, ...]:
    """Return the columns of text: those named, or the only feature if it holds strings; none for a table of numbers."""
    import pyarrow.types as kinds

    if asked.fitted_encoding is not None:
        return ()
    if asked.text is None:
        only = layout.features if len(layout.features) == 1 else ()
        return only if only and holds_strings(schema.field(only[0]).type) else ()
    if asked.columns is not None:
        raise InputError(
            f"{of('columns', 'wn.open')} and {of('text', 'wn.open')} cannot be given together; the text is all that "
            "is used."
        )
    for name in asked.text:
        kind = schema.field(_known(name, schema.names, "text", owner)).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        if not holds_strings(kind):
            raise DataError(f"column {name!r} of {owner} must hold strings to be read as text; it holds {kind}.")
        if name == layout.label:
            raise InputError(f"{of('text', 'wn.open')} must not be the label column of {owner}; got {name!r}.")
    return asked.text


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
