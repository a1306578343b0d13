"""SoftLabels: probabilities of classes or labels, or predictions, to train on beside or in place of labels.

Module `top_classes` says in which precision they are kept, and what is kept of many classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint, plain
from ..core.layouts import Parquet
from ..core.serialiser import Saved
from .notebook_view import Shown, class_table, fact_table
from .provenance import Provenance
from .source import Source, positions_of
from .table import Table, data_frame
from .top_classes import check_probabilities, checked_columns, compact, whole_rows

if TYPE_CHECKING:
    import pandas

__all__ = ["SoftLabels"]


BLOCK = 4096  # rows made whole at a time
LAYOUT = Parquet({"id": "ids", "p*": "values", "c*": "columns"}, spared=("weight", "several"))


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels(Shown, Saved, kind="soft labels", layout=LAYOUT):
    """Class probabilities of each example; or, without classes, predictions of a regression.

    Parameters
    ----------
    ids
        Ids of the examples.
    values
        One row per example, one column per class; not negative, each row sums to 1. Kept in half precision, and only
        the 16 largest of each row if there are more than 64 classes: `at` gives whole rows. For a regression: one
        column per output, in the unit of the labels.
    classes
        Names of the classes, in the order of the columns; empty for a regression.
    seconds
        Time spent on making them, for the ledger.
    prior_seconds
        Time spent on training the classifier, if it was trained for this purpose; of an observation, its time.
    provenance
        Where they came from.
    weight
        Share of the soft part in the loss of a training: 1 uses these only, 0 the labels only (`wn.soft_loss`).
        `dataclasses.replace(soft, weight=...)` changes it.
    columns
        Class numbers of the values in each row, if only some are given; the rest of the probability is spread evenly
        over the other classes.
    several
        Whether an example may have several labels: each column is then a probability of its own, and rows need not sum
        to 1.

    Raises
    ------
    InputError
        If a row is not one of probabilities, there is not one column per class, or the weight is not in [0, 1].

    Examples
    --------
    >>> import winnow as wn
    >>> soft = wn.relabel.SoftLabels(["a", "b"], [[0.75, 0.25], [0.0, 1.0]], ("no", "yes"))
    >>> soft.at(["b", "a"]).tolist()
    [[0.0, 1.0], [0.75, 0.25]]
    >>> soft.with_classes(["yes", "no"]).at("a").tolist()
    [0.25, 0.75]
    >>> soft.agreement(wn.open(([[0.0], [1.0]], ["no", "no"]), ids=["a", "b"], classes=["no", "yes"]))
    0.5
    >>> wn.relabel.SoftLabels(["a", "b"], [[21.5], [20.0]], ()).take(["b"])
    SoftLabels(1 example, 1 output)
    """

    ids: NDArray[Any]
    values: NDArray[Any]
    classes: tuple[str, ...]
    seconds: float = 0.0
    prior_seconds: float = 0.0
    provenance: Provenance = field(default_factory=dict)
    weight: float = 1.0
    columns: NDArray[Any] | None = None
    several: bool = False

    def __post_init__(self) -> None:
        owner = "SoftLabels"
        ids = checks.ids(owner, self.ids)
        coarse = getattr(self.values, "dtype", None) == np.float16
        values = checks.array("values", owner, self.values, ndim=2, rows=ids.size, dtype=np.float32)
        classes = _names(self.classes)
        columns = None if self.columns is None else checked_columns(self.columns, values.shape, len(classes))
        if self.several:
            values = _chances(values, columns, len(classes))
        elif classes:
            check_probabilities(values, columns, len(classes), coarse)
            values, columns = compact(values, columns, len(classes))
        for name in ("seconds", "prior_seconds"):
            object.__setattr__(self, name, checks.number(name, owner, getattr(self, name), low=0))
        object.__setattr__(self, "weight", checks.number("weight", owner, self.weight, low=0, high=1))
        object.__setattr__(self, "ids", checks.frozen(ids))
        object.__setattr__(self, "values", checks.frozen(values))
        object.__setattr__(self, "columns", None if columns is None else checks.frozen(columns, copy=False))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "provenance", plain(self.provenance))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        width, unit = (len(self.classes), "class") if self.classes else (self.values.shape[1], "output")
        unit = "label" if self.several else unit
        plural = "" if width == 1 else "es" if unit == "class" else "s"
        share = "" if self.weight == 1 else f", weight {self.weight:g}"
        return f"SoftLabels({len(self)} example{'s' * (len(self) != 1)}, {width} {unit}{plural}{share})"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids, values and classes in canonical order, and of the weight if it is not 1."""
        order = np.argsort(self.ids, kind="stable")
        ids = "\n".join(map(str, self.ids[order].tolist())).encode()
        rest: list[object] = [] if self.columns is None else [self.columns[order].tobytes()]
        rest += [] if self.weight == 1 else [self.weight]
        rest += ["several"] if self.several else []
        return fingerprint(ids, self.values[order].tobytes(), list(self.classes), *rest)

    def at(self, ids: ArrayLike) -> NDArray[np.float32]:
        """The probabilities or predictions of the examples with these ids, in the order given.

        Parameters
        ----------
        ids
            Ids of examples.

        Returns
        -------
        NDArray
            One row per id, one column per class, label or output; the probabilities of classes sum to 1 in each row.

        Raises
        ------
        InputError
            If an id is unknown.
        """
        where = positions_of(self.ids, ids, "SoftLabels")
        rows = self.rows(np.reshape(where, -1))
        return rows.reshape(*np.shape(where), rows.shape[1])

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """The same by position among `ids`, for loops that know it already."""
        rows = self.values[positions].astype(np.float32)
        if not self.classes or self.several:
            return rows
        return whole_rows(rows, None if self.columns is None else self.columns[positions], len(self.classes))

    def take(self, ids: ArrayLike) -> SoftLabels:
        """Those of these examples only, in the order given.

        Parameters
        ----------
        ids
            Ids of examples.

        Returns
        -------
        SoftLabels
            One row per id.

        Raises
        ------
        InputError
            If an id is unknown.
        """
        where = np.atleast_1d(positions_of(self.ids, ids, "SoftLabels"))
        columns = None if self.columns is None else self.columns[where]
        return replace(self, ids=self.ids[where], values=self.values[where], columns=columns)

    def with_classes(self, classes: Sequence[str]) -> SoftLabels:
        """The same probabilities with columns in another order.

        Parameters
        ----------
        classes
            The names of the same classes.

        Returns
        -------
        SoftLabels
            With a column per class, in the order of `classes`.

        Raises
        ------
        InputError
            If the classes are not the same.
        """
        wanted = tuple(classes)
        if wanted == self.classes:
            return self
        if sorted(wanted) != sorted(self.classes):
            raise InputError(
                f"classes of SoftLabels are {len(self.classes)}, {', '.join(self.classes[:3])} ...; asked for "
                f"{len(wanted)}, {', '.join(wanted[:3])} ..."
            )
        if self.columns is not None:
            number = {name: k for k, name in enumerate(wanted)}
            renumbered = np.array([number[name] for name in self.classes])[self.columns]
            return replace(self, columns=renumbered, classes=wanted)
        order = [self.classes.index(name) for name in wanted]
        return replace(self, values=self.values[:, order], classes=wanted)

    def agreement(self, source: Source) -> float:
        """Share of the source's examples whose most probable class is their label.

        Parameters
        ----------
        source
            Examples with labels of the same classes.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        InputError
            If the source has other classes or none, or an example without soft labels.
        """
        if not isinstance(source, Source) or source.labels is None or source.task != "classification":
            raise InputError(f"source of SoftLabels.agreement must have the {len(self.classes)} classes of the labels.")
        ours = self.with_classes(source.classes)
        likeliest = ours._likeliest()[0][positions_of(ours.ids, source.ids, "SoftLabels")]
        return float((likeliest == source.labels).mean())

    def _likeliest(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The most probable class of each example, and how probable it is."""
        starts = range(0, len(self), BLOCK)
        blocks = [self.rows(np.arange(start, min(start + BLOCK, len(self)))) for start in starts]
        return np.concatenate([rows.argmax(1) for rows in blocks]), np.concatenate([rows.max(1) for rows in blocks])

    def _view(self) -> Table:
        """The most probable class of each example, and how probable it is; of labels or a regression, its size."""
        if self.several:
            return fact_table({"examples": len(self), "labels": len(self.classes), "weight": self.weight})
        if not self.classes:
            return fact_table({"examples": len(self), "outputs": self.values.shape[1], "weight": self.weight})
        likeliest, probability = self._likeliest()
        return class_table(likeliest, self.classes, probability)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per example: `id` and the probability of each class, under its name, or `prediction_0` and so on."""
        rows = self.rows(np.arange(len(self)))
        names = self.classes or tuple(f"prediction_{k}" for k in range(rows.shape[1]))
        return data_frame({"id": self.ids, **dict(zip(names, rows.T, strict=True))})


def _chances(values: NDArray[np.float32], columns: NDArray[Any] | None, labels: int) -> NDArray[np.float16]:
    """Check that each value is the probability of one of several labels; kept in half precision."""
    if columns is not None or values.shape[1] != labels:
        raise InputError(
            f"values of SoftLabels must have a column for each of the {labels} labels; got {values.shape[1]}."
        )
    if (values < 0).any() or (values > 1).any():
        raise InputError(f"values of SoftLabels must be in [0, 1]; got {values.min():g} to {values.max():g}.")
    return values.astype(np.float16)


def _names(classes: object) -> tuple[str, ...]:
    """Check the names of the classes."""
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise InputError(f"classes of SoftLabels must be names in a sequence; got {type(classes).__name__}.")
    names = tuple(str(name) for name in classes)
    if len(set(names)) != len(names):
        raise InputError(f"classes of SoftLabels must be different names; got {', '.join(names[:5])}.")
    return names
