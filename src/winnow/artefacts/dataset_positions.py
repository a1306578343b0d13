"""Positions of a subset's examples in a data set that holds all examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .provenance import Provenance
from .source import Source

__all__ = ["origins", "positions_in", "positions_named"]


def positions_in(
    owner: str, ids: NDArray[Any], provenance: Provenance, dataset: Any, source: Source | None
) -> NDArray[np.int64]:
    """Find the examples with these ids in a map-style data set that holds all examples.

    Parameters
    ----------
    owner
        Who asks, for messages.
    ids
        Ids of the examples.
    provenance
        Where the ids came from: without a source they must be positions.
    dataset
        The data set, or a Source.
    source
        The source of the ids, if the data set holds the same examples in the same order.
    """
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise InputError(
            f"dataset of {owner} must be map-style, with len() and [position]; got {type(dataset).__name__}."
        )
    whole = dataset if isinstance(dataset, Source) else source
    if whole is not None and not isinstance(whole, Source):
        raise InputError(f"source of {owner} must be a Source (open it with wn.open); got {type(whole).__name__}.")
    where = whole.positions(ids) if whole is not None else _as_positions(owner, ids, provenance)
    expected = len(dataset) if whole is None else len(whole)
    if len(dataset) != expected:
        raise InputError(f"dataset of {owner} must have the {expected} examples of the source; it has {len(dataset)}.")
    beyond = where[(where < 0) | (where >= expected)]
    if beyond.size:
        raise InputError(f"dataset of {owner} has {expected} examples; the subset names position {beyond[0]}.")
    return where


def _as_positions(owner: str, ids: NDArray[Any], provenance: Provenance) -> NDArray[np.int64]:
    """The ids, if they are positions and not numbers with another meaning."""
    if not positions_named(ids, provenance):
        made = sorted(_id_kinds(provenance) - {"positions"})
        kind = f"come from {made[0]}" if made else f"are names such as {str(ids[0])!r}"
        raise InputError(
            f"{owner} needs source= to find the examples in a torch dataset, because the ids {kind}; pass "
            "the source the subset was chosen from."
        )
    return ids


def positions_named(ids: NDArray[Any], provenance: Provenance) -> bool:
    """Whether ids are positions, as far as their provenance says."""
    return ids.dtype.kind == "i" and _id_kinds(provenance) <= {"positions"}


def _id_kinds(provenance: Provenance) -> set[str]:
    """What the ids of every source in a provenance were made from."""
    return {origin["ids"] for origin in origins(provenance) if isinstance(origin.get("ids"), str)}


def origins(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the origin of every source in a provenance."""
    if isinstance(value, Mapping):
        origin = value.get("origin")
        if isinstance(origin, Mapping):
            yield origin
        for item in value.values():
            yield from origins(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from origins(item)
