"""Class probabilities in little memory: half precision, and of many classes the largest of each example.

Half precision is exact to 0.05 % of each probability: two trainings differ by far more than that. If there are many
classes, the largest probabilities of each example are kept with their class numbers, and the rest of its probability is
spread evenly over the other classes. With R the probability of the classes left out, the absolute differences of a row
sum to at most 2 R + 0.001. A million examples of 1,000 classes take 64 MB, not 4 GB.

Predictions of a regression are not made smaller: their unit may be anything, and half precision ends at 65,504.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError

__all__ = ["MANY", "TOP", "check_probabilities", "checked_columns", "compact", "whole_rows"]

MANY = 64  # classes above which only the top ones are kept
TOP = 16  # how many of them
SLACK = 1e-4  # how far from 1 a row may sum, in single precision
COARSE_SLACK = 1e-3  # and in half precision, whose steps are 1 / 2048 of a number
BLOCK = 4096  # rows sorted at a time
OWNER = "SoftLabels"


def checked_columns(columns: ArrayLike, shape: tuple[int, ...], classes: int) -> NDArray[np.int64]:
    """Check that every row names as many different classes as it has values."""
    made = checks.array("columns", OWNER, columns, ndim=2)
    if made.shape != shape or made.dtype.kind not in "iu":
        raise InputError(
            f"columns of {OWNER} must be class numbers, of the shape of the values {shape}; got {made.shape} of "
            f"{made.dtype}."
        )
    if not classes:
        raise InputError(f"columns of {OWNER} are for classes; a regression has none.")
    ordered = np.sort(made.astype(np.int64), axis=1)
    if ordered[:, 0].min() < 0 or ordered[:, -1].max() >= classes or (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InputError(f"columns of {OWNER} must be different numbers in each row, from 0 to {classes - 1}.")
    return made.astype(np.int64)


def check_probabilities(
    values: NDArray[np.float32], columns: NDArray[np.int64] | None, classes: int, coarse: bool
) -> None:
    """Check that each row holds probabilities: all of them, or the part that `columns` names.

    Parameters
    ----------
    values
        The probabilities.
    columns
        Their class numbers; None if all are there.
    classes
        Number of classes.
    coarse
        Whether the values were given in half precision.
    """
    if (columns is None and values.shape[1] != classes) or classes < 2:
        raise InputError(
            f"values of {OWNER} must have a column for each of the {classes} classes, at least two; "
            f"got {values.shape[1]}."
        )
    if (values < 0).any():
        raise InputError(f"values of {OWNER} must not be negative; the smallest is {values.min():g}.")
    whole = values.shape[1] == classes
    sums = values.sum(1, dtype=np.float64)
    off = np.abs(sums - 1) if whole else sums - 1
    worst = int(off.argmax())
    if off[worst] > (COARSE_SLACK if coarse else SLACK):
        allowed = "to 1" if whole else "to 1 at most"
        raise InputError(f"values of {OWNER} must sum {allowed} in each row; row {worst} sums to {sums[worst]:.6g}.")


def compact(
    values: NDArray[np.float32], columns: NDArray[np.int64] | None, classes: int
) -> tuple[NDArray[np.float16], NDArray[Any] | None]:
    """Return probabilities in half precision; of many classes the top ones, with their numbers in rising order."""
    if columns is None and classes <= MANY:
        return values.astype(np.float16), None
    if columns is None:
        blocks = (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))
        columns = np.concatenate([np.argpartition(-block, TOP - 1, axis=1)[:, :TOP] for block in blocks])
        values = np.take_along_axis(values, columns, axis=1)
    order = np.argsort(columns, axis=1)
    number = np.uint16 if classes <= 1 << 16 else np.int32
    kept = np.take_along_axis(values, order, axis=1).astype(np.float16)
    return kept, np.take_along_axis(columns, order, axis=1).astype(number)


def whole_rows(values: NDArray[np.float32], columns: NDArray[Any] | None, classes: int) -> NDArray[np.float32]:
    """Return rows with a probability for each class, which sum to 1."""
    rows = values
    if columns is not None:
        rest = np.maximum(0, 1 - values.sum(1, keepdims=True)) / max(1, classes - values.shape[1])
        rows = np.repeat(rest.astype(np.float32), classes, axis=1)
        np.put_along_axis(rows, columns.astype(np.int64), values, axis=1)
    whole: NDArray[np.float32] = np.divide(rows, rows.sum(1, keepdims=True), dtype=np.float32)
    return whole
