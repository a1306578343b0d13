"""Ids of examples: made from their content, and found again among others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError

__all__ = ["content_ids", "positions_of"]


def positions_of(
    known: NDArray[Any], wanted: ArrayLike, owner: str, order: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Positions of the `wanted` ids among the `known` ones; an unknown id raises an error that names it."""
    asked = np.asarray(wanted)
    if asked.size == 0:
        return np.zeros(0, dtype=np.int64)
    if asked.dtype.kind == "O" and all(isinstance(one, str) for one in asked.reshape(-1).tolist()):
        asked = asked.astype(np.str_)
    if asked.dtype.kind not in "iuU":
        raise InputError(f"ids of {owner} look like {known[0]!r}; got an array of {asked.dtype}.")
    same_kind = (asked.dtype.kind in "iu") == (known.dtype.kind in "iu")
    if not same_kind:
        raise InputError(f"ids of {owner} look like {known[0]!r}; got {asked.reshape(-1)[0]!r}.")
    if asked.dtype.kind == "u":  # otherwise numpy would compare as floats
        asked = np.minimum(asked, np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
    by_id = np.argsort(known, kind="stable") if order is None else order
    sorted_ids = known[by_id]
    place = np.minimum(np.searchsorted(sorted_ids, asked), known.size - 1)
    missing = sorted_ids[place] != asked
    if missing.any():
        raise InputError(
            f"{owner} has no example with id {asked[missing][0]!s} ({int(missing.sum())} of "
            f"{asked.size} ids are unknown)."
        )
    return by_id[place].astype(np.int64, copy=False)


def content_ids(rows: Iterable[bytes], labels: NDArray[Any] | None = None) -> NDArray[np.str_]:
    """Ids from content: 16 hexadecimal digits of each row's hash, plus a count for repeated rows.

    The label is not part of the hash, so that correcting a label keeps an example's id. Among equal rows the label
    decides the count, so that shuffling does not change it.
    """
    names = np.array([hashlib.blake2b(row, digest_size=8).hexdigest() for row in rows], dtype=np.str_)
    _, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    repeated = np.flatnonzero(counts[inverse] > 1)
    if repeated.size == 0:
        return names
    keys = (np.zeros(repeated.size),) if labels is None else tuple(np.atleast_2d(labels.T)[:, repeated])
    out = names.astype(f"<U{16 + 1 + len(str(int(counts.max())))}")
    seen: dict[str, int] = {}
    for position in repeated[np.lexsort((*keys, names[repeated]))]:
        name = str(names[position])
        count = seen.get(name, 0)
        seen[name] = count + 1
        if count:
            out[position] = f"{name}-{count}"
    return out
