"""Targets: one vector per example, computed once by a prior model and stored by id.

On disk they are a parquet file with the columns `id` and `target` (a fixed number of float32), written and read in
blocks of rows, so that memory holds only the values themselves, n x dim in float32.
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

ROWS = 4096  # rows per block of embeddings, sums and the file
OWNER = "this set of targets"
LAYOUT = Parquet({"id": "ids", "target": "values"}, block=ROWS, derived=("dim",), dtypes=("ids",), spared=("seconds",))


@dataclass(frozen=True, eq=False, repr=False)
class Targets(Shown, Saved, kind="targets", layout=LAYOUT):
    """One target vector per example.

    Ids are sorted, so that the order of the source does not matter.

    Parameters
    ----------
    ids
        Ids of the examples.
    values
        Their targets, one per row, as float32. No row may be the zero vector, which has no direction.
    provenance
        Where they came from.
    seconds
        Time spent on making them, for the ledger.

    Raises
    ------
    InputError
        If there is not one finite target per example, or one is the zero vector.

    Examples
    --------
    >>> import winnow as wn
    >>> tgt = wn.relabel.Targets(["a", "b"], [[1.0, 0.0], [0.0, 2.0]])
    >>> tgt.at(["b"]).tolist()
    [[0.0, 2.0]]
    >>> tgt.source(wn.open([[5.0], [6.0]], ids=["a", "b"]))
    Source('arrays': 2 examples, table (1,), regression)
    >>> sorted(tgt.shuffled(seed=1).values.tolist())
    [[0.0, 2.0], [1.0, 0.0]]
    >>> wn.relabel.Targets.load(tgt.save("targets.parquet"))
    Targets(2 examples, 2 numbers each)
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
        """The length of a target."""
        return int(self.values.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and values."""
        return fingerprint("\n".join(map(str, self.ids.tolist())).encode(), self.values.tobytes())

    def at(self, ids: ArrayLike) -> NDArray[np.float32]:
        """Targets of the examples with these ids, in the order given.

        Parameters
        ----------
        ids
            One id or several.

        Returns
        -------
        NDArray
            One target per id.

        Raises
        ------
        InputError
            If an id is unknown; the message names it.
        """
        asked = np.atleast_1d(np.asarray(ids))
        if asked.dtype.kind == self.ids.dtype.kind and asked.ndim == 1:
            # Called in every training step, so avoid `positions_of`, which would copy all ids each time.
            place = np.searchsorted(self.ids, asked.astype(self.ids.dtype, copy=False))
            place = np.minimum(place, len(self) - 1)
            if (self.ids[place] == asked).all():
                return self.values[place]
        return self.values[positions_of(self.ids, asked, OWNER, order=np.arange(len(self)))]

    def source(self, source: Source) -> Source:
        """The examples of a source as a regression towards these targets.

        Parameters
        ----------
        source
            The examples; labels are not used.

        Returns
        -------
        Source
            The same examples with their targets as labels.

        Raises
        ------
        InputError
            If it is not a Source, or an example has no target.
        """
        if not isinstance(source, Source):
            raise InputError(
                f"source of Targets.source must be a Source (open it with wn.open); got {type(source).__name__}."
            )
        made = source.with_labels(self.at(source.ids), "regression")
        return replace(made, origin={**source.origin, "targets": self.fingerprint})

    def shuffled(self, seed: int = 0) -> Targets:
        """A control: the same targets, assigned to the examples at random.

        Training on these can only use the distribution of the targets, not which target belongs to which example.

        Parameters
        ----------
        seed
            Decides which example gets which target.

        Returns
        -------
        Targets
            For the same examples.

        Raises
        ------
        InputError
            If the seed is not a whole number from 0.
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
    """Raise an error if a target is zero, naming the id of its example."""
    zero = ~values.any(axis=1)
    if zero.any():
        raise InputError(
            f"targets must not be the zero vector, which has no direction; that of example {ids[zero][0]!s} is "
            f"({int(zero.sum())} of {len(values)} here), so leave such examples out or take another prior."
        )


@dataclass(frozen=True, eq=False)
class EmbeddingBlock(Saved, kind="embeddings", layout=Tensors(arrays=("values",))):
    """Representations of one block of examples, as saved by a run that makes targets."""

    values: NDArray[Any]
