"""Several labels per example: lists of names or numbers, or rows of 0 and 1, as rows of 0 and 1 with names.

Without `task="multilabel"` only what can mean nothing else is read this way: lists of names, and rows of 0 and 1 that
are whole numbers or booleans. Rows with exactly one 1 each may be classes as one-hot rows, and are left to the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, InputError

__all__ = ["label_rows", "listed_labels", "sorted_names"]

LISTS = (list, tuple, set, frozenset)
Rows = NDArray[np.uint8]


def listed_labels(value: Any) -> NDArray[np.object_] | None:
    """Return one tuple of labels per example if a value holds a list of them per example; otherwise None.

    Rectangular lists of numbers are arrays, not lists of labels.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype == object and value.ndim == 1 else None
    elif hasattr(value, "to_list"):  # a series of pandas or polars
        value = value.to_list()
    if not isinstance(value, list | tuple) or not value:
        return None
    first = next((one for one in value if one is not None), None)
    if not isinstance(first, (*LISTS, np.ndarray)) or any(isinstance(one, str) for one in value):
        return None
    out = np.empty(len(value), dtype=object)
    for place, one in enumerate(value):
        plain = one.tolist() if isinstance(one, np.ndarray) else one
        out[place] = tuple(plain) if isinstance(plain, LISTS) else plain
    rows = [row for row in out if isinstance(row, tuple)]
    names = any(isinstance(item, str) for row in rows for item in row)
    return out if names or len({len(row) for row in rows}) > 1 or not any(rows) else None


def label_rows(
    raw: Any,
    owner: str,
    *,
    asked: bool,
    classes: Sequence[str] | None,
    names: Sequence[str] = (),
    rows: int | None = None,
) -> tuple[Rows, tuple[str, ...]] | None:
    """Return rows of 0 and 1, and the names of their columns; None if the values are not several labels per example.

    Parameters
    ----------
    raw
        The labels as the adapter read them.
    owner
        Their owner, named in messages.
    asked
        Whether the user asked for multilabel; then whatever is not several labels raises.
    classes
        Names that define the columns; any other label raises.
    names
        Names of the columns, or of the label numbers, if the format has them.
    rows
        The required number of examples.
    """
    lists = listed_labels(raw)
    if lists is None and asked and _numbers_of_labels(np.asarray(raw)):
        lists = listed_labels(
            [tuple(row) for row in np.asarray(raw).tolist()] + [()]
        )  # numbers of labels, of one count
        lists = None if lists is None else lists[:-1]
    if lists is not None and not asked and not _names_only(lists):
        return None
    found = _indicators(raw, names, asked) if lists is None else _from_lists(lists, names, owner)
    if found is None:
        if asked:
            raise InputError(
                f"labels of {owner} must be rows of 0 and 1, or a list of labels per example, for multilabel; got "
                f"{_described(raw)}."
            )
        return None
    if rows is not None and len(found[0]) != rows:
        raise InputError(f"labels of {owner} must have {rows} entries, one per example; got {len(found[0])}.")
    if classes is not None:
        return _ordered(*found, tuple(map(str, classes)), owner)
    if (np.ptp(found[0], axis=0) == 0).all():
        raise DataError(f"labels of {owner} must have a label that some examples have and others do not; got none.")
    return found


def _described(raw: Any) -> str:
    values = np.asarray(raw)
    return f"{values.dtype} of shape {values.shape}"


def _zeros_and_ones(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "biuf" and bool(((values == 0) | (values == 1)).all())


def _numbers_of_labels(values: NDArray[Any]) -> bool:
    """Whether rows hold label numbers, as many each: whole, different in each row, and not 0 and 1 throughout."""
    if values.ndim != 2 or values.dtype.kind not in "iu" or _zeros_and_ones(values):
        return False
    ordered = np.sort(values, axis=1)
    return not (ordered[:, 1:] == ordered[:, :-1]).any()


def _names_only(lists: NDArray[np.object_]) -> bool:
    """Whether lists hold names, and not one each, which would be classes."""
    held = [row for row in lists if row is not None]
    text = all(isinstance(item, str | None) for row in held for item in row)
    return text and any(len(row) != 1 for row in held)


def _indicators(raw: Any, names: Sequence[str], asked: bool) -> tuple[Rows, tuple[str, ...]] | None:
    """Rows of 0 and 1 as they are; None if they are something else, or may be."""
    values = np.asarray(raw)
    if values.ndim != 2 or not _zeros_and_ones(values):
        return None
    whole = values.dtype.kind in "biu" and values.shape[1] >= 2
    if not asked and (not whole or (values.sum(axis=1) == 1).all()):
        return None
    fitting = len(names) == values.shape[1]
    columns = tuple(map(str, names)) if fitting else tuple(map(str, range(values.shape[1])))
    return values.astype(np.uint8), columns


def _from_lists(lists: NDArray[np.object_], names: Sequence[str], owner: str) -> tuple[Rows, tuple[str, ...]]:
    missing = sum(row is None or any(item is None or item == "" for item in row) for row in lists)
    if missing:
        raise DataError(
            f"labels of {owner} must not be missing; {missing} of {len(lists)} lists are missing or have a missing "
            "label (an example without labels has an empty list)."
        )
    held = {item for row in lists for item in row}
    kinds = {type(item) for item in held}
    if not (kinds <= {str} or kinds <= {int, np.int64, np.int32}):
        raise InputError(
            f"labels of {owner} must be lists of names, or lists of whole numbers; got a mixture of "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}."
        )
    if names and kinds and not kinds <= {str}:
        outside = [item for item in held if not 0 <= item < len(names)]
        if outside:
            raise DataError(f"labels of {owner} must be label numbers from 0 to {len(names) - 1}; got {outside[0]}.")
        number: dict[Any, int] = {place: place for place in range(len(names))}
        columns = tuple(map(str, names))
    else:
        ordered = sorted_names([str(item) for item in held])
        columns = tuple(ordered)
        place_of = {name: place for place, name in enumerate(ordered)}
        number = {item: place_of[str(item)] for item in held}
    found = np.zeros((len(lists), len(columns)), dtype=np.uint8)
    for place, row in enumerate(lists):
        found[place, [number[item] for item in row]] = 1
    return found, columns


def sorted_names(names: list[str]) -> list[str]:
    """Sort names by number if all are whole numbers, as text otherwise."""
    if all(name.removeprefix("-").isdecimal() for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def _ordered(
    found: Rows, columns: tuple[str, ...], wanted: tuple[str, ...], owner: str
) -> tuple[Rows, tuple[str, ...]]:
    """Put the columns in the order that the user gave; a label that nobody has may be missing there."""
    unnamed = columns == tuple(map(str, range(len(columns)))) and len(wanted) == len(columns)
    if unnamed and set(columns) != set(wanted):
        return found, wanted  # columns without names of their own
    number = {name: place for place, name in enumerate(wanted)}
    unknown = [name for place, name in enumerate(columns) if name not in number and found[:, place].any()]
    if unknown:
        count = int(found[:, columns.index(unknown[0])].sum())
        raise DataError(
            f"labels of {owner} must be among the {len(wanted)} given labels (for test data, those of the training "
            f"data); got {unknown[0]!r} ({count} example(s))."
        )
    out = np.zeros((len(found), len(wanted)), dtype=np.uint8)
    for place, name in enumerate(columns):
        if name in number:
            out[:, number[name]] = found[:, place]
    return out, wanted
