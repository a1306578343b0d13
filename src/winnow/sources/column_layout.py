"""Which column of a table is the label, which the id, which are features: decided from the names and types alone.

The label column is the one named by `labels=`, or the only one called label, labels, target, y or class (in any case);
several columns of true and false, or of 0 and 1, named by `labels=` are several labels per example. A column called
`id` gives the ids and is not a feature: a row number would leak the order of the file into the model.

Features are numbers, booleans or vectors (lists of numbers); or they are text: the columns named by `text=`, or a
single column of strings beside the label. A table with strings, dates or missing values beside others is encoded
(`raw_table`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..core.errors import DataError, InputError, UnknownNameError
from ..core.parameter_names import of
from .assembly import OpenRequest
from .column_values import holds_strings, is_number, is_vector
from .group_and_time import named_beside

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LABEL_NAMES", "OWN", "ColumnLayout", "lay_out", "must_be_encoded", "numeric", "text_columns", "usable"]

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
    label = None if labelled or several else _label_column(names, asked, owner)
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


def _label_column(names: Sequence[str], asked: OpenRequest, owner: str) -> str | None:
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
