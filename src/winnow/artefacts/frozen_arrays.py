"""Ids, labels and values that an artefact holds: checked and copied once, then shared.

An artefact copies what it is given, so that nobody can change it later. What one artefact hands to the next was checked
and copied before and is read-only, so it is taken as it is: ten million examples would otherwise be held once per step.
Ids that ascend, as those of most files do, are not sorted either: `order_of` gives None.
"""

from __future__ import annotations

import mmap
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks

__all__ = [
    "all_finite",
    "frozen_copy",
    "frozen_ids",
    "frozen_view",
    "in_order",
    "let_go",
    "mapped_rows",
    "order_of",
    "same_ids",
]

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


def let_go(values: NDArray[Any]) -> None:
    """Let the system take back the pages of a map that were read, so that a pass over it keeps the process small.

    Nothing is lost: they are read again when they are needed, from memory if the machine has some to spare. Arrays that
    are no maps are left alone.
    """
    found = _map_of(values)
    if found is None or found.mode == "c":  # what is changed in a copy on write is in no file
        return
    if hasattr(mmap, "MADV_DONTNEED"):  # not on every system; then it is left to the system
        found._mmap.madvise(mmap.MADV_DONTNEED)


def _is_map(values: NDArray[Any]) -> bool:
    """Whether an array is a view of a file that cannot be written through it."""
    found = _map_of(values)
    return found is not None and bool(found.mode == "r")


def _map_of(values: Any) -> Any:
    """The map that an array is a view of; None if there is none."""
    while isinstance(values, np.ndarray) and not isinstance(values, np.memmap):
        values = values.base
    return values if isinstance(values, np.memmap) else None


def same_ids(held: NDArray[Any], asked: ArrayLike) -> bool:
    """Whether these ids, of the same kind and in the same order, are asked for."""
    given = np.asarray(asked)
    return given is held or (given.dtype.kind == held.dtype.kind and np.array_equal(held, given))


def order_of(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the positions of the ids in ascending order; None if they ascend as they are."""
    if bool((ids[1:] > ids[:-1]).all()):
        return None
    return np.argsort(ids, kind="stable")


def in_order(values: NDArray[Any], order: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the values at the positions of `order`; all as they are if it is None."""
    return values if order is None else values[order]
