"""Scores: one number per example. Higher means harder, with one exception (`dynamic_uncertainty`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.files import fingerprint
from ..core.layouts import SHARD, Parquet
from ..core.serialiser import Saved
from .canonical_bytes import array_bytes, id_bytes
from .example_ids import positions_of
from .frozen_arrays import frozen_copy, frozen_ids, order_of, same_ids
from .notebook_view import Shown, class_table, label_columns
from .provenance import Provenance
from .table import Table, data_frame
from .task_labels import TASKS, Task

if TYPE_CHECKING:
    import pandas

__all__ = ["Scores"]

LAYOUT = Parquet({"id": "ids", "score": "values", "label": "labels"}, shard=SHARD)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Shown, Saved, kind="scores", layout=LAYOUT):
    """One number per example.

    Parameters
    ----------
    name
        Name of the score.
    ids
        Ids of the examples.
    values
        The numbers, finite, in the order of `ids`.
    reliability
        Rank correlation (Spearman) between the scores from two halves of the seeds; None if there was only one seed.
    task, labels, classes
        Those of the source, so that a selection can be balanced.
    provenance
        Where the scores came from.

    Raises
    ------
    InputError
        If there is not one finite number per id.

    Examples
    --------
    >>> import winnow as wn
    >>> sco = wn.Scores("mine", ["a", "b", "c"], [0.5, 2.0, 1.0])
    >>> sco.take(["c", "a"]).values.tolist()
    [1.0, 0.5]
    >>> wn.Scores.load(sco.save("scores.parquet"))
    Scores('mine': 3 examples, reliability unknown)
    """

    name: str
    ids: NDArray[Any]
    values: NDArray[np.float64]
    reliability: float | None = None
    task: Task = "unlabelled"
    labels: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        owner = f"scores {self.name!r}"
        object.__setattr__(self, "ids", frozen_ids(owner, self.ids))
        checks.choice("task", owner, self.task, TASKS)
        values = checks.array("values", owner, self.values, ndim=1, rows=self.ids.size, dtype=np.float64)
        object.__setattr__(self, "values", frozen_copy(values))
        if self.labels is not None:
            labels = checks.array("labels", owner, self.labels, rows=self.ids.size)
            object.__setattr__(self, "labels", frozen_copy(labels))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        known = "unknown" if self.reliability is None else f"{self.reliability:.3f}"
        return f"Scores({self.name!r}: {len(self)} examples, reliability {known})"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and values in canonical order."""
        order = order_of(self.ids)
        return fingerprint(id_bytes(self.ids, order), array_bytes(self.values, order))

    def take(self, ids: ArrayLike) -> Scores:
        """The scores of just these examples, in the order given."""
        if same_ids(self.ids, ids):
            return self
        where = positions_of(self.ids, ids, f"scores {self.name!r}")
        labels = None if self.labels is None else self.labels[where]
        return replace(self, ids=self.ids[where], values=self.values[where], labels=labels)

    def _view(self) -> Table:
        return class_table(self.labels, self.classes, self.values)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per example: `id`, `score` and, if known, `label`."""
        return data_frame({"id": self.ids, "score": self.values, **label_columns(self.labels, self.classes)})
