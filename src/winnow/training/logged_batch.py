"""Checks of what is logged: class names, positions, rows and targets, each with a sentence that names the example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError

__all__ = [
    "as_array",
    "class_targets",
    "label_targets",
    "named_classes",
    "number_rows",
    "positions_within",
    "target_rows",
]

OWNER = "Recorder"


def as_array(values: Any) -> NDArray[Any]:
    """Convert a tensor or anything array-like to numpy, float16 and bfloat16 as float32."""
    if hasattr(values, "detach"):
        values = values.detach()
        if values.is_floating_point():
            values = values.float() if values.element_size() < 8 else values.double()
        return np.asarray(values.cpu().numpy())
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{OWNER} takes tensors and arrays; got a ragged {type(values).__name__}.") from None


def positions_within(where: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Check for different positions from 0 to n - 1."""
    if where.ndim != 1 or where.size == 0 or where.dtype.kind not in "iu":
        raise InputError(
            f"positions of {OWNER}.log must be a non-empty vector of whole numbers; got "
            f"{where.dtype} of shape {where.shape}."
        )
    low, high = int(where.min()), int(where.max())
    if low < 0 or high >= n:
        raise InputError(f"positions of {OWNER}.log must be from 0 to {n - 1}; got {low if low < 0 else high}.")
    ordered = np.sort(where)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        raise InputError(f"positions of {OWNER}.log must not repeat within a batch; {int(ordered[1:][twice][0])} does.")
    return where.astype(np.int64, copy=False)


def number_rows(name: str, values: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """Check for numbers with one row per position and one column per class or output."""
    if values.ndim == 1 and columns == 1:
        values = values[:, None]
    if values.shape != (rows, columns) or values.dtype.kind not in "fiu":
        raise InputError(
            f"{name} of {OWNER}.log must be numbers of shape ({rows}, {columns}), one row per "
            f"position; got {values.dtype} of shape {values.shape}."
        )
    return values


def class_targets(targets: NDArray[Any], rows: int, classes: int) -> NDArray[Any]:
    """Check for one class number per position."""
    if targets.shape != (rows,) or targets.dtype.kind not in "iu":
        raise InputError(
            f"targets of {OWNER}.log must be {rows} class number(s), one per position; "
            f"got {targets.dtype} of shape {targets.shape}."
        )
    if int(targets.min()) < 0 or int(targets.max()) >= classes:
        wrong = int(targets.min()) if int(targets.min()) < 0 else int(targets.max())
        raise InputError(f"targets of {OWNER}.log must be class numbers from 0 to {classes - 1}; got {wrong}.")
    return targets


def label_targets(targets: NDArray[Any], rows: int, labels: int) -> NDArray[Any]:
    """Check for a row of 0 and 1 per position, one column per label."""
    given = targets.astype(np.uint8) if targets.dtype.kind == "b" else targets
    found = number_rows("targets", given, rows, labels)
    if not ((found == 0) | (found == 1)).all():
        raise InputError(f"targets of {OWNER}.log must be 0 or 1 for several labels per example; got other values.")
    return found


def target_rows(targets: NDArray[Any], rows: int, outputs: int) -> NDArray[Any]:
    """Check for finite targets of a regression."""
    return checks.finite("targets", f"{OWNER}.log", number_rows("targets", targets, rows, outputs))


def named_classes(names: Sequence[str] | None, classes: int, task: str) -> tuple[str, ...]:
    """The names of the classes, checked; none for a regression."""
    if task == "regression":
        if names:
            raise InputError(f"class_names of {OWNER} are for classification; a {task} has none.")
        return ()
    if names is None:
        return tuple(map(str, range(classes)))
    given = (names,) if isinstance(names, str) else tuple(names)
    if len(given) != classes or len(set(given)) != classes or not all(isinstance(name, str) for name in given):
        raise InputError(
            f"class_names of {OWNER} must be {classes} different names, one per class; got {len(given)}: {given!r:.60}."
        )
    return given
