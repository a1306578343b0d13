"""SoftLabels: class probabilities per example, to train on in place of labels."""

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
from .notebook_view import Shown, class_table
from .provenance import Provenance
from .source import Source, positions_of
from .table import Table, data_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["SLACK", "SoftLabels"]


SLACK = 1e-4  # how far from 1 a row may sum, in single precision


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels(Shown, Saved, kind="soft labels", layout=Parquet({"id": "ids", "p*": "values"})):
    """Class probabilities of each example.

    Parameters
    ----------
    ids
        Ids of the examples.
    values
        One row per example, one column per class; not negative, each row sums to 1.
    classes
        Names of the classes, in the order of the columns.
    seconds
        Time spent on making them, for the ledger.
    prior_seconds
        Time spent on training the classifier, if it was trained for this purpose.
    provenance
        Where they came from.

    Raises
    ------
    InputError
        If a row is not one of probabilities, or there is not one column per class.

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
    """

    ids: NDArray[Any]
    values: NDArray[np.float32]
    classes: tuple[str, ...]
    seconds: float = 0.0
    prior_seconds: float = 0.0
    provenance: Provenance = field(default_factory=dict)

    def __post_init__(self) -> None:
        owner = "SoftLabels"
        ids = checks.ids(owner, self.ids)
        values = checks.array("values", owner, self.values, ndim=2, rows=ids.size, dtype=np.float32)
        if isinstance(self.classes, str) or not isinstance(self.classes, Sequence | np.ndarray):
            raise InputError(f"classes of {owner} must be names in a sequence; got {type(self.classes).__name__}.")
        classes = tuple(str(name) for name in self.classes)
        if len(set(classes)) != len(classes):
            raise InputError(f"classes of {owner} must be different names; got {', '.join(classes[:5])}.")
        if values.shape[1] != len(classes) or len(classes) < 2:
            raise InputError(
                f"values of {owner} must have a column for each of the {len(classes)} classes, at least two; "
                f"got {values.shape[1]}."
            )
        if (values < 0).any():
            raise InputError(f"values of {owner} must not be negative; the smallest is {values.min():g}.")
        sums = values.sum(1, dtype=np.float64)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > SLACK:
            raise InputError(f"values of {owner} must sum to 1 in each row; row {worst} sums to {sums[worst]:.6g}.")
        for name in ("seconds", "prior_seconds"):
            object.__setattr__(self, name, checks.number(name, owner, getattr(self, name), low=0))
        object.__setattr__(self, "ids", checks.frozen(ids))
        object.__setattr__(self, "values", checks.frozen(values))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "provenance", plain(self.provenance))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"SoftLabels({len(self)} examples, {len(self.classes)} classes)"

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids, probabilities and classes in canonical order."""
        order = np.argsort(self.ids, kind="stable")
        ids = "\n".join(map(str, self.ids[order].tolist())).encode()
        return fingerprint(ids, self.values[order].tobytes(), list(self.classes))

    def at(self, ids: ArrayLike) -> NDArray[np.float32]:
        """The probabilities of the examples with these ids, in the order given.

        Parameters
        ----------
        ids
            Ids of examples.

        Returns
        -------
        NDArray
            One row per id, one column per class.

        Raises
        ------
        InputError
            If an id is unknown.
        """
        return self.values[positions_of(self.ids, ids, "SoftLabels")]

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
        columns = [self.classes.index(name) for name in wanted]
        return replace(self, values=self.values[:, columns], classes=wanted)

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
        return float((self.with_classes(source.classes).at(source.ids).argmax(1) == source.labels).mean())

    def _view(self) -> Table:
        """The most probable class of each example, and how probable it is."""
        return class_table(self.values.argmax(1), self.classes, self.values.max(1))

    def to_pandas(self) -> pandas.DataFrame:
        """One row per example: `id` and the probability of each class, under the class's name."""
        return data_frame({"id": self.ids, **dict(zip(self.classes, self.values.T, strict=True))})
