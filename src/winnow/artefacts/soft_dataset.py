"""SoftDataset: the kept part of a torch data set, each example with its soft target.

| item of the data set | item here |
|---|---|
| a tuple or list, such as `(x, y)` | a tuple with the soft target as last element: `(x, y, soft)` |
| a mapping, such as `{"x": ..., "labels": ...}` | a dict with one more entry, `"soft"` |

The soft target is a vector of float32: a probability per class, or the predictions of a regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.data

from ..core.errors import InputError
from .soft_labels import SoftLabels

__all__ = ["SOFT", "SoftDataset"]

SOFT = "soft"  # the entry of a mapping


class SoftDataset(torch.utils.data.Subset[Any]):
    """Examples of a map-style data set with their soft targets.

    Parameters
    ----------
    dataset
        The full data set.
    indices
        Positions of the examples in it.
    soft
        Their soft targets, in the same order.
    """

    def __init__(self, dataset: Any, indices: Sequence[int], soft: SoftLabels) -> None:
        super().__init__(dataset, indices)
        self.soft = soft

    @property
    def weight(self) -> float:
        """Share of the soft targets in the loss."""
        return self.soft.weight

    def __getitem__(self, position: Any) -> Any:
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: list[int]) -> list[Any]:
        """Several items at once, as a loader asks for them."""
        rows = torch.from_numpy(self.soft.rows(np.asarray(positions, dtype=np.int64)))
        return [_with(item, row) for item, row in zip(super().__getitems__(positions), rows, strict=True)]


def _with(item: Any, row: torch.Tensor) -> Any:
    if isinstance(item, tuple | list):
        return (*item, row)
    if isinstance(item, Mapping) and SOFT not in item:
        return {**item, SOFT: row}
    what = f"a mapping with an entry {SOFT!r} already" if isinstance(item, Mapping) else f"a {type(item).__name__}"
    raise InputError(f"dataset of Subset.to_torch must have tuples or mappings to add soft targets to; got {what}.")
