"""ExampleMap: a place in the plane for every example, and the short rows it was made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.layouts import Tensors
from ..core.serialiser import Saved
from .provenance import Provenance

__all__ = ["ExampleMap"]


@dataclass(frozen=True, eq=False)
class ExampleMap(Saved, kind="map", layout=Tensors(arrays=("points", "rows"), ids="ids")):
    """A place in the plane for every example.

    Parameters
    ----------
    ids
        Ids of the examples.
    points
        Two numbers per example, within [-1, 1].
    rows
        The first principal components of the features, scaled together: near examples have near rows.
    method
        How the points were made: `pca` or `umap`.
    features
        What the rows are of, in words.
    explained
        Share of the variance of the features that each of the two axes of a PCA has; empty for other methods.
    provenance
        Where the map came from.
    """

    ids: NDArray[Any]
    points: NDArray[np.float32]
    rows: NDArray[np.float32]
    method: str
    features: str
    explained: tuple[float, ...] = ()
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = checks.frozen(checks.ids("a map", self.ids))
        object.__setattr__(self, "ids", found)
        for name in ("points", "rows"):
            values = checks.array(name, "a map", getattr(self, name), ndim=2, rows=found.size, dtype=np.float32)
            object.__setattr__(self, name, checks.frozen(values, copy=False))

    def __len__(self) -> int:
        return int(self.ids.size)
