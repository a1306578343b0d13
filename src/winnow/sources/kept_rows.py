"""KeptRows: a subset together with the data it was chosen from, as every writer of `export` needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..artefacts.subset import Subset
from ..core.errors import InputError, UnknownNameError
from .own_rows import found_in, known_data, opened_again
from .subset_columns import SubsetColumns

__all__ = ["KeptRows", "kept_rows"]


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The kept rows of a data set.

    Parameters
    ----------
    what
        The data as given: a path, a name, or an object in memory.
    source
        The same, open.
    where
        Positions of the kept rows in both, ascending: rows stay in the order of the data.
    columns
        Weights and soft targets of the rows.
    """

    what: Any
    source: Source
    where: NDArray[np.int64]
    columns: SubsetColumns

    @property
    def adapter(self) -> str:
        """The format of the data, as its adapter calls it."""
        return str(self.source.origin.get("adapter", ""))

    @property
    def path(self) -> Path:
        """The path of the data; only if it has one."""
        return Path(self.source.origin["path"])

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the rows."""
        return self.source.ids[self.where]

    @property
    def class_names(self) -> list[str] | None:
        """The class of each row; None if there are no classes."""
        if self.source.task != "classification" or self.source.labels is None:
            return None
        return [self.source.classes[number] for number in self.source.labels[self.where].tolist()]

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label of each row, classes by name or, if all names are whole numbers, by that number."""
        names = self.class_names
        if names is None:
            return None if self.source.labels is None else self.source.labels[self.where]
        whole = all(name.removeprefix("-").isdecimal() for name in self.source.classes)
        return np.array([int(name) for name in names]) if whole else np.array(names)


def kept_rows(subset: Subset, what: Any, owner: str, opening: Mapping[str, Any]) -> KeptRows:
    """Open the data of a subset and find its rows.

    Parameters
    ----------
    subset
        Which examples.
    what
        Anything that `wn.open` takes; what the provenance of the subset names, if None.
    owner
        Who asks, for messages.
    opening
        Keywords of `wn.open` that replace those in the provenance.
    """
    given = what is not None
    if what is None:
        what = known_data(subset, owner)
    if isinstance(what, Source) and ("path" in what.origin or "builtin" in what.origin):
        # A Source may hold a part of a file, in another order; its rows are those of the file again.
        opening = {**what.origin.get("opening", {}), **opening}
        what = what.origin.get("builtin") or what.origin["path"]
    try:
        source = opened_again(subset, what, owner, opening)
    except UnknownNameError as error:
        if not given:
            raise
        raise InputError(
            f"the subset was not chosen from these data, which lack what it was chosen with: {error} Give {owner} the "
            "data it was chosen from."
        ) from None
    where = np.sort(found_in(subset, source, owner))
    return KeptRows(what, source, where, SubsetColumns.of(subset, source.ids[where]))
