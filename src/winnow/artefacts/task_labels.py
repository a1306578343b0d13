"""Tasks, and the labels of each: class numbers, rows of 0 and 1, float targets, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError
from .label_sets import check_label_rows

__all__ = ["TASKS", "Task", "checked_labels", "renumbered"]

Task = Literal["classification", "multilabel", "regression", "unlabelled"]
TASKS: tuple[Task, ...] = ("classification", "multilabel", "regression", "unlabelled")


def checked_labels(
    task: str, given: ArrayLike | None, size: int, classes: Sequence[str], owner: str
) -> NDArray[Any] | None:
    """Return labels in the type of their task; raise if they do not fit it.

    Parameters
    ----------
    task
        One of `TASKS`.
    given
        The labels, None for an unlabelled task.
    size
        The number of examples.
    classes
        Names of the classes or labels.
    owner
        Their owner, named in messages.
    """
    if task == "unlabelled":
        if given is not None:
            raise InputError(f"labels of {owner} must be None for an unlabelled task.")
        return None
    if given is None:
        raise InputError(f"labels of {owner} are missing for a {task} task.")
    wanted = {"classification": np.int64, "multilabel": np.uint8}.get(task, np.float64)
    dimensions = {"classification": (1,), "multilabel": (2,)}.get(task, (1, 2))
    labels = checks.array("labels", owner, given, ndim=dimensions, rows=size)
    if task == "multilabel":
        check_label_rows(labels, len(classes), owner)
    if task == "classification":
        if labels.dtype.kind not in "iu":
            raise InputError(f"labels of {owner} must be class numbers; got dtype {labels.dtype}.")
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or high >= len(classes):
            raise InputError(
                f"labels of {owner} must be class numbers from 0 to {len(classes) - 1}; got {low if low < 0 else high}."
            )
    return labels.astype(wanted, copy=False)


def renumbered(
    task: str, labels: NDArray[Any], classes: Sequence[str], wanted: Sequence[str], owner: str
) -> NDArray[Any]:
    """Return the same labels numbered as in `wanted`, which has all their classes and perhaps more.

    >>> renumbered("classification", np.array([0, 1]), ("cat", "dog"), ("ant", "dog", "cat"), "a test set").tolist()
    [2, 1]
    """
    one, several = ("label", "labels") if task == "multilabel" else ("class", "classes")
    unknown = sorted(set(classes) - set(wanted))
    if unknown:
        raise InputError(
            f"{owner} has the {one} {unknown[0]!r}, which is not among the {len(wanted)} {several} of the "
            "training data."
        )
    number = {name: index for index, name in enumerate(wanted)}
    if task == "multilabel":
        rows = np.zeros((len(labels), len(wanted)), dtype=np.uint8)
        rows[:, [number[name] for name in classes]] = labels
        return rows
    table = np.array([number[name] for name in classes], dtype=np.int64)
    return np.asarray(table[labels])
