"""The part of the source that `explain` trains on, and the position of the example in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..artefacts import Source
from ..core import checks
from ..core.errors import InputError, NotDefinedError
from ..core.parameter_names import of
from ..sources.holdout import sample

__all__ = ["part_and_place"]


def part_and_place(source: Source, id: Any, limit: int | None, seed: int) -> tuple[Source, int | None]:
    """The part of the source to train on, and the position of the example in it, if one is given.

    Parameters
    ----------
    source, id, limit, seed
        As for `explain`. An example that is not among the `limit` sampled ones is added, which makes another part.
    """
    if source.task != "classification":
        raise NotDefinedError(f"explain needs class labels; source {source.name!r} has the task {source.task}.")
    if _classes(source) < 2:
        raise InputError(f"explain needs at least two classes among the examples of source {source.name!r}; got one.")
    place = None if id is None else _place(source, id)
    if limit is None or checks.integer("limit", "explain", limit, low=2) >= len(source):
        return source, place
    drawn = source.positions(sample(source, limit, seed).ids)
    if place is None:
        part = source.at(np.sort(drawn))
        if _classes(part) < 2:
            raise InputError(f"{of('limit', 'explain')} must leave at least two classes; {limit} leaves one.")
        return part, None
    part = source.at(np.union1d(drawn, [place]))
    return part, int(part.positions(source.ids[[place]])[0])


def _place(source: Source, id: Any) -> int:
    """The position of an id."""
    if isinstance(id, bool) or not isinstance(id, (int, str, np.integer)):
        raise InputError(f"id of explain must be a whole number or text; got {type(id).__name__}.")
    numbered = source.ids.dtype.kind in "iu"
    wanted = _whole(id) if numbered else id
    # Never search text among numbers or numbers among text: numpy would warn, or find something else.
    alike = isinstance(wanted, str) != numbered
    found = np.flatnonzero(source.ids == wanted) if alike else np.zeros(0, dtype=np.int64)
    if found.size == 0:
        raise InputError(f"source {source.name!r} has no example with id {id!s}; its ids look like {source.ids[0]!s}.")
    return int(found[0])


def _whole(id: int | str | np.integer[Any]) -> int | str:
    """The number in a text, or the text itself if it is not a number."""
    try:
        return int(id)
    except ValueError:
        return str(id)


def _classes(source: Source) -> int:
    return int(np.unique(np.asarray(source.labels)).size)
