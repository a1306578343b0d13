"""SelectionOrder: the order in which a method takes examples, if a smaller answer is part of every larger one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.layouts import Parquet
from ..core.serialiser import Saved
from .provenance import Provenance

__all__ = ["SelectionOrder"]


@dataclass(frozen=True, eq=False)
class SelectionOrder(Saved, kind="order", layout=Parquet({"id": "ids"})):
    """Ids in the order in which a method takes them, first the one that is kept longest.

    Parameters
    ----------
    ids
        Every example that the method may choose.
    method
        The method, as in `prune`.
    balance
        The share of an equal part that each class keeps, as in `prune`; None if there are no quotas.
    provenance
        Where the order came from.
    """

    ids: NDArray[Any]
    method: str
    balance: float | None = None
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = np.asarray(checks.ids("an order", self.ids))
        if not found.size:
            raise InputError("ids of an order must not be empty.")
        object.__setattr__(self, "ids", checks.frozen(found, copy=False))

    def __len__(self) -> int:
        return int(self.ids.size)
