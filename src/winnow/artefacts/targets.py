"""Targets: one vector an example, made once by a prior, known by id.

On disk they are a parquet file with the columns `id` and `target` (a fixed number of float32), written and read a block
of rows at a time, so that only the values themselves, n x dim in float32, are ever held.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks, seeds
from ..core.errors import InputError
from ..core.files import fingerprint, plain
from ..core.layouts import Parquet, Tensors
from ..core.serialiser import Saved
from .notebook_view import Shown, fact_table
from .provenance import Provenance, record
from .source import Source, positions_of
from .table import Table, data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["ROWS", "EmbeddingBlock", "Targets", "refuse_zeros"]

ROWS = 4096  # rows in a block: of embeddings, of sums, of the file
OWNER = "this set of targets"
LAYOUT = Parquet({"id": "ids", "target": "values"}, block=ROWS, derived=("dim",), dtypes=("ids",))


@dataclass(frozen=True, eq=False, repr=False)
class Targets(Shown, Saved, kind="targets", layout=LAYOUT):
    """A target vector for each example.

    Ids are kept sorted, so that the order of the source changes nothing.

    Parameters
    ----------
    ids
        Ids of the examples.
    values
        Their targets, one a row, as float32; no row is the zero vector, which has no direction to pull towards.
    provenance
        Where they came from.
    seconds
        How long making them took, for the ledger.
    """

    ids: NDArray[Any]
    values: NDArray[np.float32]
    provenance: Provenance = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        ids = checks.ids(OWNER, self.ids)
        values = checks.array("values", OWNER, self.values, ndim=2, rows=ids.size, dtype=np.float32)
        checks.number("seconds", OWNER, self.seconds, low=0)
        if not (ids[:-1] <= ids[1:]).all():
            order = np.argsort(ids, kind="stable")
            ids, values = ids[order], values[order]
        refuse_zeros(ids, values)
        object.__setattr__(self, "ids", checks.frozen(ids, copy=False))
        object.__setattr__(self, "values", checks.frozen(values, copy=False))
        object.__setattr__(self, "provenance", plain(self.provenance))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"Targets({len(self)} examples, {self.dim} numbers each)"

    @property
    def dim(self) -> int:
        """Numbers a target has."""
        return int(self.values.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and values."""
        return fingerprint("\n".join(map(str, self.ids.tolist())).encode(), self.values.tobytes())

    def at(self, ids: ArrayLike) -> NDArray[np.float32]:
        """Targets of the examples with these ids, in the order asked for; an unknown id is refused by name."""
        asked = np.atleast_1d(np.asarray(ids))
        if asked.dtype.kind == self.ids.dtype.kind and asked.ndim == 1:
            # Once a step in somebody's loop: `positions_of` would copy all ids each time.
            place = np.searchsorted(self.ids, asked.astype(self.ids.dtype, copy=False))
            place = np.minimum(place, len(self) - 1)
            if (self.ids[place] == asked).all():
                return self.values[place]
        return self.values[positions_of(self.ids, asked, OWNER, order=np.arange(len(self)))]

    def source(self, source: Source) -> Source:
        """The same examples as a regression whose targets are these; every example must have one."""
        if not isinstance(source, Source):
            raise InputError(
                f"source of Targets.source must be a Source (open it with wn.open); got {type(source).__name__}."
            )
        made = source.with_labels(self.at(source.ids), "regression")
        return replace(made, origin={**source.origin, "targets": self.fingerprint})

    def shuffled(self, seed: int = 0) -> Targets:
        """The control: the same targets dealt out among the examples at random.

        Training towards these can only use what the set of targets looks like, not which belongs to which example.
        """
        order = seeds.stream(seed, "shuffled targets").permutation(len(self))
        provenance = record("Targets.shuffled", {"seed": seed}, {"targets": self.provenance})
        return replace(self, values=self.values[order], provenance=provenance)

    def _view(self) -> Table:
        return fact_table({"examples": len(self), "numbers each": self.dim, "seconds": float(self.seconds)})

    def to_pandas(self) -> pandas.DataFrame:
        """One row per example: `id` and `target_0`, `target_1` ..."""
        return data_frame({"id": self.ids, **{f"target_{k}": column for k, column in enumerate(self.values.T)}})


def refuse_zeros(ids: NDArray[Any], values: NDArray[Any]) -> None:
    """Refuse a target without a direction, by the id of its example."""
    zero = ~values.any(axis=1)
    if zero.any():
        raise InputError(
            f"targets must not be the zero vector, which has no direction; that of example {ids[zero][0]!s} is "
            f"({int(zero.sum())} of {len(values)} here), so leave such examples out or take another prior."
        )


@dataclass(frozen=True, eq=False)
class EmbeddingBlock(Saved, kind="embeddings", layout=Tensors(arrays=("values",))):
    """Representations of one block of examples, as a run that makes targets keeps them."""

    values: NDArray[Any]
