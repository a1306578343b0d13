"""What a subset adds to the rows it keeps: weights and soft targets, as columns called `winnow_...`.

A column is there only if there is something to say: weights if they are not all one, soft targets if the subset has
them. CSV files get one column of soft targets per class; others get one column of lists, in the order of
`sub.targets.classes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.subset import Subset
from .column_layout import OWN

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SOFT", "WEIGHT", "SubsetColumns"]

WEIGHT, SOFT = f"{OWN}weight", f"{OWN}soft"


@dataclass(frozen=True, eq=False)
class SubsetColumns:
    """Weights and soft targets of kept rows, in the order of the rows; None if there are none."""

    weight: NDArray[np.float64] | None
    soft: NDArray[np.float32] | None
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, subset: Subset, ids: NDArray[Any]) -> SubsetColumns:
        """Those of the examples with these ids."""
        place = np.searchsorted(subset.ids, ids)  # a subset has its ids sorted
        weight = None if (subset.weights == 1).all() else subset.weights[place]
        targets = subset.targets
        return cls(weight, *((None, ()) if targets is None else (targets.at(ids), targets.classes)))

    def __bool__(self) -> bool:
        return self.weight is not None or self.soft is not None

    @cached_property
    def lists(self) -> dict[str, Any]:
        """Weight and soft targets by column, the latter one list per row."""
        found = {} if self.weight is None else {WEIGHT: self.weight.tolist()}
        return found if self.soft is None else {**found, SOFT: _short(self.soft)}

    @cached_property
    def flat(self) -> dict[str, list[float]]:
        """Weight and soft targets by column, with one column per class or output."""
        found = {} if self.weight is None else {WEIGHT: self.weight.tolist()}
        if self.soft is None:
            return found
        names = self.classes or tuple(str(number) for number in range(self.soft.shape[1]))
        return {**found, **{f"{SOFT}_{name}": _short(self.soft[:, k]) for k, name in enumerate(names)}}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Weight and soft targets row by row."""
        columns = self.lists
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def added(self, table: pa.Table, *, flat: bool = False, start: int = 0) -> pa.Table:
        """An arrow table of kept rows with these columns, in place of those that it had; the first row is `start`."""
        import pyarrow as pa

        table = table.drop_columns([name for name in table.column_names if name.startswith(OWN)])
        for name, values in (self.flat if flat else self.lists).items():
            kind = pa.list_(pa.float32()) if name == SOFT and not flat else pa.float64()
            table = table.append_column(name, pa.array(values[start : start + table.num_rows], type=kind))
        return table


def _short(values: NDArray[np.float32]) -> Any:
    """Floats of which only the digits that float32 holds are written."""
    return [[float(str(one)) for one in row] if np.ndim(row) else float(str(row)) for row in values.astype(np.float32)]
