"""The examples of a subset in the user's own object: a frame, a dataset, a list, arrays, or what a path holds.

The object is opened like the data that the subset was chosen from: its provenance says with which options. Then the
same rows have the same ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.dataset_positions import origins, positions_in, positions_named
from ..artefacts.source import Source
from ..artefacts.subset import Subset
from ..core.errors import InputError
from .frames import is_frame
from .openable import as_source

__all__ = ["is_table", "kept_positions", "known_data", "only", "opened_again"]

OF_PATHS = ("split", "size")  # options that mean nothing for an object in memory


def kept_positions(subset: Subset, what: Any, owner: str, opening: Mapping[str, Any]) -> NDArray[np.int64]:
    """Positions of the kept examples in an object, in the order of the subset's ids.

    Parameters
    ----------
    subset
        Which examples.
    what
        A Source, or anything that `wn.open` takes.
    owner
        Who asks, for messages.
    opening
        Keywords of `wn.open` that replace those in the provenance.
    """
    inputs = what[0] if isinstance(what, tuple) and len(what) == 2 else what
    in_memory = not isinstance(inputs, str | Source) and hasattr(inputs, "__len__")
    if in_memory and not opening and positions_named(subset.ids, subset.provenance):
        known = any(origin.get("ids") == "positions" for origin in origins(subset.provenance))
        if known or not is_table(inputs):  # numbers of unknown origin may be an id column of a table
            return positions_in(owner, subset.ids, subset.provenance, inputs, None)
    return found_in(subset, opened_again(subset, what, owner, opening), owner)


def found_in(subset: Subset, source: Source, owner: str) -> NDArray[np.int64]:
    """Positions of the kept examples in an open source; the error says what to do if some are missing."""
    try:
        return source.positions(subset.ids)
    except InputError as error:
        raise InputError(
            f"source of {owner} must hold every kept example: {str(error).rstrip('.')}; give the data that the subset "
            "was chosen from, with the same options (labels=, columns=, ids=)."
        ) from None


def opened_again(subset: Subset, what: Any, owner: str, opening: Mapping[str, Any]) -> Source:
    """Open an object with the options that the data of a subset were opened with."""
    if isinstance(what, Source):
        return as_source("source", owner, what, **opening)
    origin: Mapping[str, Any] = next(origins(subset.provenance), {})
    how = dict(origin.get("opening", {}))
    if not isinstance(what, str) and not hasattr(what, "__fspath__"):
        how = {name: value for name, value in how.items() if name not in OF_PATHS}
        if not is_table(what):
            how = {name: value for name, value in how.items() if name == "task"}
        elif origin.get("ids") == "given" and hasattr(what, "iloc"):
            how["ids"] = what.index.to_numpy()
    return as_source("source", owner, what, **{**how, **opening})


def known_data(subset: Subset, owner: str) -> str:
    """The name or path of the data that a subset was chosen from."""
    origin: Mapping[str, Any] = next(origins(subset.provenance), {})
    found = origin.get("builtin") or origin.get("path")
    if not isinstance(found, str):
        raise InputError(f"source of {owner} must be given, because the subset was chosen from data in memory.")
    return found


def is_table(what: Any) -> bool:
    """Whether an object in memory has columns: a frame of pandas, polars or arrow, or an HF dataset."""
    return is_frame(what) or hasattr(type(what), "column_names")


def only(what: Any, where: NDArray[np.int64], owner: str) -> Any:
    """The rows of an object at these positions, as an object of the same kind.

    Parameters
    ----------
    what
        A Source, a frame of pandas, polars or arrow, an HF dataset, a list, an array or tensor, (X, y) of these, or a
        torch dataset.
    where
        Positions.
    owner
        Who asks, for messages.
    """
    if isinstance(what, tuple):
        return tuple(only(part, where, owner) for part in what)
    if isinstance(what, str | bytes | Mapping) or hasattr(what, "__fspath__"):
        kind = "one split of it" if isinstance(what, Mapping) else "an object in memory; Subset.export writes files"
        raise InputError(f"source of {owner} must be {kind}; got {type(what).__name__}.")
    if isinstance(what, Source):
        return what.at(where)
    if is_frame(what) and hasattr(what, "collect"):  # a lazy polars frame
        what = what.collect()
    if hasattr(what, "iloc"):
        return what.iloc[where]
    if hasattr(what, "add_item"):  # an HF dataset
        return what.select(where.tolist())
    if type(what).__module__.startswith("pyarrow"):
        return what.take(where)
    if isinstance(what, list):
        return [what[place] for place in where.tolist()]
    if is_frame(what) or hasattr(what, "__array__") or hasattr(what, "detach"):
        return what[where]
    import torch.utils.data

    return torch.utils.data.Subset(what, where.tolist())
