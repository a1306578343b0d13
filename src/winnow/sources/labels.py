"""Labels: turn a raw column into labels, class names and a task.

| raw values | task | labels |
|---|---|---|
| whole numbers, strings, booleans | classification | 0 to K - 1 |
| lists of names, rows of 0 and 1 (`label_rows`) | multilabel | rows of 0 and 1 |
| floats | regression | the floats |
| none | unlabelled | none |

Class names are sorted, by number if all of them are whole numbers and as text otherwise, so that the numbering
depends on which classes there are and not on the order of the rows. `task=` overrides this: whole numbers as a
regression target, or floats with whole values as class numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.task_labels import Task
from ..core.errors import DataError, InputError
from .label_rows import label_rows, listed_labels, sorted_names

__all__ = ["ReadLabels", "understand"]

ALL_DIFFERENT = 20  # from this many examples on, as many classes as examples is treated as a mistake


@dataclass(frozen=True)
class ReadLabels:
    """Labels in the form a Source needs."""

    task: Task
    labels: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()


def understand(
    raw: ArrayLike | None,
    owner: str,
    *,
    task: Task | None = None,
    classes: Sequence[str] | None = None,
    names: Sequence[str] = (),
    rows: int | None = None,
) -> ReadLabels:
    """Return labels, class names and task of a raw column.

    Parameters
    ----------
    raw
        The column as the adapter read it; None if there is none.
    owner
        The owner of the labels, named in messages.
    task
        The task, if the user gave one.
    classes
        Class names that define the numbering; any other label raises an error.
    names
        Names of the class numbers 0, 1, ... if the format has them.
    rows
        The required number of labels.
    """
    if task == "unlabelled" or (raw is None and task is None):
        return ReadLabels("unlabelled")
    if raw is None:
        raise InputError(f"labels of {owner} must be given for a {task}; got none: pass labels=, or task='unlabelled'.")
    if task in (None, "multilabel"):
        found = label_rows(raw, owner, asked=task == "multilabel", classes=classes, names=names, rows=rows)
        if found is not None:
            return ReadLabels("multilabel", *found)
    values = _vector(raw, owner, rows)
    if task is None:
        task = "regression" if values.dtype.kind == "f" and classes is None else "classification"
    if task == "regression":
        return ReadLabels(task, _real(values, owner))
    if values.ndim != 1:
        raise InputError(
            f"labels of {owner} must be one class per example; got shape {values.shape} "
            "(for one-hot rows pass their argmax, for several labels per example task='multilabel')."
        )
    coded = _numbered(values, names, owner) if names and values.dtype.kind in "iuf" else _coded(values, owner)
    if classes is None:
        _refuse_degenerate(coded, owner)
        return coded
    return _renumbered(coded, tuple(map(str, classes)), owner)


def _vector(raw: ArrayLike, owner: str, rows: int | None) -> NDArray[Any]:
    """Return the column as an array without missing values."""
    lists = listed_labels(raw)
    if lists is not None and all(isinstance(row, tuple) and len(row) == 1 for row in lists):
        raw = [row[0] for row in lists]
        lists = None
    try:
        values = np.asarray(raw)
    except ValueError:
        values = None
    if lists is not None or values is None:
        raise InputError(
            f"labels of {owner} must have one entry per example; got rows of different lengths "
            "(for lists of labels pass task='multilabel')."
        )
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise InputError(f"labels of {owner} must be a vector, or rows of floats; got shape {values.shape}.")
    if rows is not None and len(values) != rows:
        raise InputError(f"labels of {owner} must have {rows} entries, one per example; got {len(values)}.")
    missing = 0
    if values.dtype.kind == "f":
        infinite = int(np.isinf(values).sum())
        if infinite:
            raise DataError(f"labels of {owner} must be finite; {infinite} of {len(values)} are infinite.")
        missing = int(np.isnan(values).sum())
    elif values.dtype.kind == "O":
        missing = sum(item is None or item != item for item in values.ravel().tolist())
    if missing:
        raise DataError(f"labels of {owner} must not be missing; {missing} of {len(values)} are NaN or None.")
    return _plain(values, owner)


def _plain(values: NDArray[Any], owner: str) -> NDArray[Any]:
    """Convert objects to the strings or numbers they are."""
    if values.dtype.kind == "S":
        values = values.astype(object)
    if values.dtype.kind != "O":
        if values.dtype.kind not in "biufU":
            raise InputError(f"labels of {owner} must be numbers, strings or booleans; got dtype {values.dtype}.")
        return values
    kinds = {type(item) for item in values.ravel().tolist()}
    if kinds == {bytes}:
        try:
            return np.array([item.decode() for item in values.ravel().tolist()], dtype=object).reshape(values.shape)
        except UnicodeDecodeError as error:  # replaced letters could make one class of two
            raise DataError(f"labels of {owner} are bytes that are not UTF-8, such as {error.object!r}.") from None
    if kinds <= {str}:
        return values
    narrowed = np.array(values.tolist())
    if narrowed.dtype.kind not in "biuf" or (len(kinds) > 1 and bool in kinds):
        raise InputError(
            f"labels of {owner} must be all numbers or all strings; got a mixture of "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}."
        )
    return narrowed


def _real(values: NDArray[Any], owner: str) -> NDArray[Any]:
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"labels of {owner} must be numbers for a regression; got strings such as {str(values.ravel()[0])!r}."
        )
    return values.astype(np.float64)


def _whole(values: NDArray[Any], owner: str) -> NDArray[Any]:
    if values.dtype.kind != "f":
        return values
    broken = values != np.floor(values)
    if broken.any():
        raise InputError(
            f"labels of {owner} must be whole numbers or strings for a classification; got {values[broken][0]:g}."
        )
    return values.astype(np.int64)


def _numbered(values: NDArray[Any], names: Sequence[str], owner: str) -> ReadLabels:
    """Class numbers whose names the format has; classes without examples stay in the list."""
    numbers = _whole(values, owner)
    outside = (numbers < 0) | (numbers >= len(names))
    if outside.any():
        raise DataError(
            f"labels of {owner} must be class numbers from 0 to {len(names) - 1}; {int(outside.sum())} "
            f"are not, for example {numbers[outside][0]}."
        )
    return ReadLabels("classification", numbers.astype(np.int64), tuple(map(str, names)))


def _coded(values: NDArray[Any], owner: str) -> ReadLabels:
    """Number the classes by sorted name."""
    if values.dtype.kind in "biuf":
        found, codes = np.unique(_whole(values, owner), return_inverse=True)
        return ReadLabels("classification", codes.reshape(-1).astype(np.int64), tuple(map(str, found.tolist())))
    number: dict[str, int] = {}  # numbering a million strings by a dictionary is ten times faster than sorting them
    codes = np.fromiter((number.setdefault(item, len(number)) for item in values.tolist()), np.int64, len(values))
    if "" in number:
        raise DataError(
            f"labels of {owner} must not be missing; {int((codes == number['']).sum())} of "
            f"{len(values)} are empty strings."
        )
    ordered = sorted_names(list(number))
    table = np.empty(len(ordered), dtype=np.int64)
    table[[number[name] for name in ordered]] = np.arange(len(ordered))
    return ReadLabels("classification", table[codes], tuple(ordered))


def _refuse_degenerate(found: ReadLabels, owner: str) -> None:
    present = np.unique(np.asarray(found.labels))
    if present.size == 1:
        raise DataError(f"labels of {owner} must have at least two classes; got one: {found.classes[present[0]]!r}.")
    if present.size == np.asarray(found.labels).size >= ALL_DIFFERENT:
        raise DataError(
            f"labels of {owner} have a different class for each of {present.size} examples; "
            "pass task='regression' if they are a quantity, or another column as labels=."
        )


def _renumbered(found: ReadLabels, classes: tuple[str, ...], owner: str) -> ReadLabels:
    """Renumber the labels by the class names that the user gave."""
    if len(set(classes)) != len(classes) or not classes:
        raise InputError(f"classes of wn.open must be different names, at least one; got {list(classes)!r}.")
    number = {name: index for index, name in enumerate(classes)}
    labels = np.asarray(found.labels)
    used = np.bincount(labels, minlength=len(found.classes))
    unknown = [name for name, count in zip(found.classes, used, strict=True) if count and name not in number]
    if unknown:
        count = sum(int(used[found.classes.index(name)]) for name in unknown)
        raise DataError(
            f"labels of {owner} must be among the {len(classes)} given classes (for test data, those of the training "
            f"data); got {unknown[0]!r} ({count} example(s) of unknown classes)."
        )
    table = np.array([number.get(name, -1) for name in found.classes], dtype=np.int64)
    return ReadLabels("classification", table[labels], classes)
