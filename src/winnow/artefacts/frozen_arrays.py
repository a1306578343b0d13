"""Ids, labels and values that an artefact holds: checked and copied once, then shared.

An artefact copies what it is given, so that nobody can change it later. What one artefact hands to the next was checked
and copied before and is read-only, so it is taken as it is: ten million examples would otherwise be held once per step.
Ids that ascend, as those of most files do, are not sorted either: `order_of` gives None.
"""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.scratch_rows import let_go, map_of, rows_at, scratch_rows

__all__ = [
    "all_finite",
    "frozen_copy",
    "frozen_ids",
    "frozen_view",
    "in_order",
    "mapped_rows",
    "order_of",
    "same_ids",
    "taken_rows",
]

TAKEN = 16 << 20  # bytes of rows taken at a time
_ours: weakref.WeakValueDictionary[int, NDArray[Any]] = weakref.WeakValueDictionary()  # by their place in memory
_finite: weakref.WeakValueDictionary[int, NDArray[Any]] = weakref.WeakValueDictionary()  # maps without NaN or infinity
_checked: weakref.WeakValueDictionary[int, NDArray[Any]] = weakref.WeakValueDictionary()  # of these, the ids


def frozen_copy(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy; the array itself if it is such a copy already."""
    if _ours.get(id(values)) is values and not values.flags.writeable:
        return values
    out = checks.frozen(values)
    _ours[id(out)] = out
    return out


def frozen_ids(owner: str, ids: ArrayLike) -> NDArray[Any]:
    """Return checked ids as a read-only copy; the array itself if it is such a copy already.

    Parameters
    ----------
    owner
        Whose ids they are, for the error.
    ids
        Unique whole numbers or text.
    """
    if isinstance(ids, np.ndarray) and _checked.get(id(ids)) is ids and not ids.flags.writeable:
        return ids
    out = frozen_copy(checks.ids(owner, ids))
    _checked[id(out)] = out
    return out


def frozen_view(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array too large to hold twice; the array itself if it is one already."""
    if _ours.get(id(values)) is values and not values.flags.writeable:
        return values
    out = checks.frozen(values, copy=False)
    _ours[id(out)] = out
    return out


def mapped_rows(path: Path) -> NDArray[Any]:
    """Map a .npy file whose numbers were checked as they were written, so that opening it does not read it."""
    out = frozen_view(np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)))
    _finite[id(out)] = out
    return out


def all_finite(name: str, owner: str, values: NDArray[Any]) -> NDArray[Any]:
    """Raise for NaN and infinities; a map of a file that was looked at before is not read again."""
    if _finite.get(id(values)) is not values:
        checks.finite(name, owner, values)
        if _is_map(values):
            _finite[id(values)] = values
    return values


def _is_map(values: NDArray[Any]) -> bool:
    """Whether an array is a view of a file that cannot be written through it."""
    found = map_of(values)
    return found is not None and bool(found.mode == "r")


def same_ids(held: NDArray[Any], asked: ArrayLike) -> bool:
    """Whether these ids, of the same kind and in the same order, are asked for."""
    given = np.asarray(asked)
    return given is held or (given.dtype.kind == held.dtype.kind and np.array_equal(held, given))


def order_of(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the positions of the ids in ascending order; None if they ascend as they are."""
    if bool((ids[1:] > ids[:-1]).all()):
        return None
    return np.argsort(ids, kind="stable")


def taken_rows(values: NDArray[Any], positions: NDArray[np.int64], axis: int = 0) -> NDArray[Any]:
    """Return the rows at these positions along an axis, in a file if they are many."""
    out = scratch_rows((*values.shape[:axis], positions.size, *values.shape[axis + 1 :]), values.dtype)
    for index in np.ndindex(values.shape[:axis]):
        rows, made = values[index], out[index]
        some = max(1, TAKEN // max(1, rows[:1].nbytes))
        for start in range(0, positions.size, some):
            made[start : start + some] = rows_at(rows, positions[start : start + some])
            let_go(out)
    return out


def in_order(values: NDArray[Any], order: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the values at the positions of `order`; all as they are if it is None."""
    return values if order is None else values[order]
