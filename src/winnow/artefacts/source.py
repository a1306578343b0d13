"""Source: examples that can be fetched by id, with labels, a regression target, or neither.

An id names an example, not its position. Sources whose examples have names (files, an id column) use them; others
derive ids from the content (`content_ids`), so that shuffling or re-sharding does not change them. If the content
varies (a torch dataset that augments), positions are the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.files import fingerprint
from .canonical_bytes import array_bytes, id_bytes
from .derived_readers import Lengthened, Read, Reindexed, Rows
from .example_ids import content_ids, positions_of
from .frozen_arrays import frozen_copy, frozen_ids, order_of
from .notebook_view import Shown, class_table, fact_table, label_columns
from .raw_rows import RawRows
from .table import Table, data_frame
from .task_labels import TASKS, Task, checked_labels, renumbered

if TYPE_CHECKING:
    import pandas

__all__ = ["Source", "content_ids", "positions_of"]

Kind = Literal["image", "tensor", "table", "text"]
KINDS: tuple[Kind, ...] = ("image", "tensor", "table", "text")


@dataclass(frozen=True, eq=False, repr=False)
class Source(Shown):
    """Examples by id.

    Parameters
    ----------
    name
        Its name in tables and reports.
    read
        Returns the inputs at an array of positions: uint8 of shape (n, C, H, W) for images, int32 token ids of shape
        (n, length) for text, float32 of shape (n, ...) otherwise. It is called per batch and decodes lazily.
    size
        Number of examples.
    shape
        Shape of one example as `read` returns it.
    kind
        `image` (uint8, C x H x W), `tensor` (float32, C x H x W or other), `table` (float32, one row) or `text`
        (int32, one token id per word, 0 after the last).
    task
        `classification`, `multilabel`, `regression` or `unlabelled`.
    labels
        Class numbers (int64, 0 to classes - 1); for multilabel a row of 0 and 1 per example (uint8), one column per
        label; float targets; or None.
    classes
        Names of the classes, in the order of their numbers, or of the labels in the order of their columns; empty for
        other tasks.
    make_ids
        The ids, or a function that computes them on first use, so that opening does not read large files.
    columns
        Names of a table's columns, for display.
    origin
        Where the data came from: adapter, path, options. JSON-like.
    seal
        Extra text to include in the fingerprint if ids do not reflect the content (such as file sizes), or a function
        that computes it on first use.
    read_texts
        For text: returns the strings at an array of positions, as an array of objects.
    groups
        One number or word per example; examples with the same one belong together, such as the rows of one patient, and
        are never on both sides of a split. None if every example stands alone.
    times
        One number or date per example; what is held out is then the latest part. None if time has no meaning.
    raw
        For a table with strings, dates or missing values: its raw rows, and the encoding that `read` follows.

    Raises
    ------
    InputError
        If the labels do not fit the task or the number of examples.

    Examples
    --------
    >>> import winnow as wn
    >>> src = wn.open(([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], ["no", "yes", "no"]))
    >>> src
    Source('arrays': 3 examples, table (2,), 2 classes)
    >>> src.fetch(src.ids[[2, 0]])
    array([[4., 5.],
           [0., 1.]], dtype=float32)
    >>> src.to_pandas()["label"].tolist()
    ['no', 'yes', 'no']
    """

    name: str
    read: Read
    size: int
    shape: tuple[int, ...]
    kind: Kind
    task: Task
    labels: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()
    make_ids: Callable[[], ArrayLike] | ArrayLike = field(default_factory=lambda: np.arange(0))
    columns: tuple[str, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    seal: str | Callable[[], str] = ""
    read_texts: Read | None = None
    groups: NDArray[Any] | None = None
    times: NDArray[Any] | None = None
    raw: RawRows | None = None

    def __post_init__(self) -> None:
        owner = f"source {self.name!r}"
        checks.integer("size", owner, self.size, low=1)
        for word in ("groups", "times"):
            if (given := getattr(self, word)) is not None:
                if np.shape(given) != (self.size,):
                    raise InputError(f"{word} of {owner} must have {self.size} entries; got shape {np.shape(given)}.")
                object.__setattr__(self, word, checks.frozen(np.asarray(given)))
        checks.choice("task", owner, self.task, TASKS)
        checks.choice("kind", owner, self.kind, KINDS)
        if self.kind == "text" and self.read_texts is None:
            raise InputError(f"read_texts of {owner} is missing; text needs it beside its token ids.")
        labels = checked_labels(self.task, self.labels, self.size, self.classes, owner)
        object.__setattr__(self, "labels", None if labels is None else frozen_copy(labels))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        word = {"classification": "classes", "multilabel": "labels"}.get(self.task)
        what = self.task if word is None else f"{len(self.classes)} {word}"
        return f"Source({self.name!r}: {self.size} examples, {self.kind} {self.shape}, {what})"

    def __getitem__(self, position: int) -> tuple[NDArray[Any], Any]:
        """One (input, target) pair, so that a Source is also a torch map-style dataset."""
        if not -self.size <= position < self.size:
            raise IndexError(position)
        position %= self.size
        target = -1 if self.labels is None else self.labels[position]
        return self.read(np.array([position]))[0], target

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Ids in the source's own order."""
        given = self.make_ids() if callable(self.make_ids) else self.make_ids
        found = frozen_ids(f"source {self.name!r}", given)
        if found.size != self.size:
            raise InputError(f"ids of source {self.name!r} must have {self.size} entries; got {found.size}.")
        if not callable(self.make_ids):
            object.__setattr__(self, "make_ids", found)  # the same ids are not held twice
        return found

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Positions sorted by id: the order that all random draws refer to."""
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and labels in canonical order; shuffling does not change it."""
        order = order_of(self.ids)
        return fingerprint(
            id_bytes(self.ids, order),
            b"" if self.labels is None else array_bytes(self.labels, order),
            list(self.classes),
            self.task,
            list(self.shape),
            self.seal() if callable(self.seal) else self.seal,
            *(
                [word, fingerprint("\n".join(map(str, values[self.order].tolist())).encode())]
                for word, values in (("groups", self.groups), ("times", self.times))
                if values is not None
            ),
            *(() if self.raw is None else (self.raw.digest,)),
        )

    def positions(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Positions of ids in this source."""
        return positions_of(self.ids, ids, f"source {self.name!r}", order=self.order)

    def fetch(self, ids: ArrayLike) -> NDArray[Any]:
        """Inputs of the examples with these ids, in the order given.

        Parameters
        ----------
        ids
            One id or several.

        Returns
        -------
        NDArray
            One input per id: uint8 for images, token ids (int32) for text, float32 otherwise.

        Raises
        ------
        InputError
            If the source has no example with such an id.
        """
        return self.read(self.positions(np.atleast_1d(np.asarray(ids))))

    def texts(self, ids: ArrayLike | None = None) -> list[str]:
        """Strings of the examples with these ids, in the order given; of all examples if no ids are given.

        Parameters
        ----------
        ids
            One id or several.

        Returns
        -------
        list
            One string per id.

        Raises
        ------
        InputError
            If the source holds no text, or has no example with such an id.

        Examples
        --------
        >>> import winnow as wn
        >>> wn.open((["a fine film", "dull", "a fine cast"], [1, 0, 1])).texts()
        ['a fine film', 'dull', 'a fine cast']
        """
        if self.read_texts is None:
            raise InputError(f"source {self.name!r} holds no text; it holds a {self.kind}.")
        where = np.arange(self.size) if ids is None else self.positions(np.atleast_1d(np.asarray(ids)))
        return [str(one) for one in self.read_texts(where)]

    def take(self, ids: ArrayLike, name: str | None = None) -> Source:
        """A source of these examples only, in the order given."""
        return self.at(self.positions(ids), name)

    def at(self, positions: NDArray[np.int64], name: str | None = None) -> Source:
        """A source of the examples at these positions, in the order given."""
        where = np.asarray(positions, dtype=np.int64)
        return replace(
            self,
            name=self.name if name is None else name,
            read=Reindexed(self.read, where),
            read_texts=None if self.read_texts is None else Reindexed(self.read_texts, where),
            raw=None if self.raw is None else self.raw.at(where),
            size=int(where.size),
            labels=None if self.labels is None else self.labels[where],
            groups=None if self.groups is None else self.groups[where],
            times=None if self.times is None else self.times[where],
            make_ids=self.ids[where],
        )

    def with_labels(self, labels: ArrayLike | None, task: Task, classes: Sequence[str] = ()) -> Source:
        """The same examples with the same ids and other targets."""
        made = None if labels is None else np.asarray(labels)
        return replace(self, labels=made, task=task, classes=tuple(classes), make_ids=self.ids)

    def with_classes(self, classes: Sequence[str]) -> Source:
        """The same examples with classes numbered as in `classes`, such as for a test set that lacks some."""
        if not self.classes or tuple(classes) == self.classes or self.labels is None:
            return self
        labels = renumbered(self.task, self.labels, self.classes, classes, f"source {self.name!r}")
        return replace(self, labels=labels, classes=tuple(classes), make_ids=self.ids)

    def with_length(self, length: int) -> Source:
        """The same texts with rows of `length` token ids, such as for a test set whose texts are shorter."""
        if self.kind != "text" or self.shape == (length,):
            return self
        return replace(self, read=Lengthened(self.read, length), shape=(length,), make_ids=self.ids)

    def as_in(self, other: Source) -> Source:
        """The same examples as a network for another source reads them: a test set as its training set.

        Texts get rows as long as there, and the columns of a table are encoded as there.
        """
        if self.kind == other.kind == "text":
            return self.with_length(other.shape[0])
        if self.kind != "table" or other.kind != "table" or (self.raw is None and other.raw is None):
            return self
        if other.raw is None:
            values = self.raw.plain(other.columns)  # type: ignore[union-attr]
            return replace(
                self, read=Rows(values), shape=other.shape, columns=other.columns, raw=None, make_ids=self.ids
            )
        if self.raw is not None:
            return self._encoded(self.raw.encoded_as(other.raw))
        rows = self.read(np.arange(self.size))
        return self._encoded(other.raw.with_numbers(self.columns, rows, f"source {self.name!r}"))

    def refitted(self) -> Source:
        """The same table with its encoding fitted to these rows alone, unless it is that of other data."""
        return self if self.raw is None else self._encoded(self.raw.refitted())

    def _encoded(self, raw: RawRows) -> Source:
        if raw is self.raw:
            return self
        return replace(
            self,
            raw=raw,
            read=raw.read,
            shape=(len(raw.columns),),
            columns=raw.columns,
            origin={**self.origin, "encoding": raw.record},
            make_ids=self.ids,
        )

    def _view(self) -> Table:
        if self.task == "unlabelled":
            return fact_table({"examples": self.size, "shape": " x ".join(map(str, self.shape))})
        return class_table(self.labels, self.classes, None if self.classes else self.labels)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per example: `id`, `label`, `group` and `time` if there are any, and columns as given or the text."""
        columns: dict[str, Any] = {"id": self.ids, **label_columns(self.labels, self.classes)}
        beside = {"group": self.groups, "time": self.times}
        columns |= {word: values for word, values in beside.items() if values is not None}
        if self.raw is not None:
            given = self.raw.cells(np.arange(self.size))
            columns |= {f"column_{name}" if name in columns else name: cells for name, cells in given.items()}
        elif self.kind == "table":
            values = self.read(np.arange(self.size))
            names = self.columns or tuple(f"column_{k}" for k in range(values.shape[1]))
            columns |= {f"column_{name}" if name in columns else name: values[:, k] for k, name in enumerate(names)}
        if self.kind == "text":
            columns["text"] = self.texts()
        return data_frame(columns)

    @property
    def outputs(self) -> int:
        """The number of network outputs per example: one per class or label, or one per regression target."""
        if self.classes or self.labels is None:
            return len(self.classes)
        return int(np.prod(self.labels.shape[1:], dtype=int))

    @property
    def provenance(self) -> dict[str, Any]:
        """Name, origin and fingerprint."""
        return {"name": self.name, "origin": dict(self.origin), "fingerprint": self.fingerprint, "size": self.size}
