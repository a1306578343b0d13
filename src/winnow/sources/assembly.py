"""The options of `wn.open`, and the last step of every adapter: from pieces to a checked Source.

Ids are, in this order of preference: those given; a unique column named `id`; names (file paths); the content. Content
ids are computed only when needed, because opening a large file does not read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.derived_readers import Read
from ..artefacts.raw_rows import RawRows
from ..artefacts.source import Kind, Source, content_ids
from ..artefacts.task_labels import TASKS, Task
from ..core import checks, parameter_names
from ..core.errors import InputError
from .file_encoding import checked_encoding
from .group_and_time import beside_origin, groups_and_times
from .images import Resized
from .labels import understand
from .seals import ContentSeal, FileStamps, array_seal

__all__ = ["OpenRequest", "Held", "Pieces", "assemble"]

BLOCK = 4096  # rows hashed at a time
LARGEST_SIDE = 4096  # pixels; a few thousand larger images would fill any memory
UNSTATED = ("name", "classes", "class_names", "unreadable", "trust_names")  # options that decide no id


@dataclass(frozen=True, eq=False)
class OpenRequest:
    """The options of `wn.open`, checked; the docstring of `wn.open` explains each."""

    labels: Any = None
    task: Task | None = None
    ids: Any = None
    split: str | None = None
    size: int | None = None
    classes: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    text: tuple[str, ...] | None = None
    group: Any = None
    time: Any = None
    encoding: str | None = None
    unreadable: str = "refuse"
    trust_names: bool = False
    name: str | None = None
    like: Source | None = None
    cache: Any = None
    class_names: tuple[str, ...] = ()  # for built-in data whose files hold only class numbers

    def __post_init__(self) -> None:
        owner = "wn.open"
        if self.task is not None:
            checks.choice("task", owner, self.task, TASKS)
        checks.choice("unreadable", owner, self.unreadable, ("refuse", "skip"))
        object.__setattr__(self, "encoding", checked_encoding(self.encoding))
        if self.size is not None:
            checks.integer("size", owner, self.size, low=1, high=LARGEST_SIDE)
        for word in ("split", "name"):
            value = getattr(self, word)
            if value is not None and (not isinstance(value, str) or not value):
                raise InputError(f"{parameter_names.of(word, owner)} must be a string; got {value!r}.")
        for word in ("classes", "columns", "drop", "text"):
            object.__setattr__(self, word, _words(word, getattr(self, word)))
        if self.text is not None and len(self.text) > 2:
            raise InputError(
                f"{parameter_names.of('text', owner)} must be one column, or a pair of them; got {len(self.text)}."
            )

    @property
    def label_column(self) -> str | None:
        """The column or key named as labels, if labels are not given as an array."""
        if self.labels is None or isinstance(self.labels, str):
            return self.labels
        raise InputError(
            f"{parameter_names.of('labels', 'wn.open')} must be the name of a column or key here; "
            f"got {type(self.labels).__name__}."
        )

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns named as labels if there are several; none if `labels` is anything else."""
        named = isinstance(self.labels, list | tuple) and all(isinstance(item, str) for item in self.labels)
        return tuple(self.labels) if named else ()

    @property
    def fitted_encoding(self) -> RawRows | None:
        """The rows whose encoding a table must use, if it is opened like another one that was encoded."""
        return None if self.like is None else self.like.raw

    @property
    def id_column(self) -> str | None:
        """The column named as ids, if ids are not given as an array."""
        return self.ids if isinstance(self.ids, str) else None

    def named(self, path: str | Path | None, fallback: str = "data") -> str:
        """The name given by the user, or one from the path."""
        if self.name is not None:
            return self.name
        return fallback if path is None else Path(path).resolve().name.split(".")[0] or fallback

    def stated(self) -> dict[str, Any]:
        """The options that were given and can be written down, so that the same data can be opened again."""
        found: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            several = isinstance(value, tuple) and item.name not in ("labels", "ids")  # there it would be data
            if item.name not in UNSTATED and (several or isinstance(value, str | int)) and value != item.default:
                found[item.name] = list(value) if several else value
        return found

    def refuse(self, *options: str, of: str) -> None:
        """Raise if options are given that have no meaning for this kind of data."""
        for option in dict.fromkeys((*options, *(("drop",) if "columns" in options else ()))):
            if getattr(self, option) is not None:
                raise InputError(f"{parameter_names.of(option, 'wn.open')} does not apply to {of}; leave it out.")


def _words(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else ()
    if not items or (name != "classes" and not all(isinstance(item, str) for item in items)):
        raise InputError(f"{name} of wn.open must be names, at least one; got {value!r}.")
    try:
        different = len(set(items)) == len(items)
    except TypeError:  # a tuple may hold a list
        raise InputError(f"{name} of wn.open must be names or numbers; got {value!r:.80}.") from None
    if not different:
        raise InputError(f"{name} of wn.open must be different names; got {list(items)!r}.")
    return tuple(map(str, items))


@dataclass(frozen=True, eq=False)
class Pieces:
    """What an adapter found in the data.

    Parameters
    ----------
    adapter
        Name of the format, for `origin`.
    read, count, shape, kind, columns, read_texts
        As in Source.
    target
        The raw target column, or None.
    task
        The task that follows from where the targets were found, such as in several columns; the user's comes first.
    class_names
        Names of class numbers, if the format has them.
    own_ids
        Ids that the format provides (or a function that reads them), and `ids_from`, what they are.
    content
        Yields the bytes that identify an example; if not given, those that `read` returns.
    values
        The inputs as one array, if they are in memory anyway.
    stamps
        The files behind the examples, under which their seal is kept.
    origin, seal, raw
        As in Source; `assemble` adds to them.
    groups, times
        Raw columns, if `group=` or `time=` names one.
    """

    adapter: str
    read: Read
    count: int
    shape: tuple[int, ...]
    kind: Kind
    target: Any = None
    task: Task | None = None
    class_names: Sequence[str] = ()
    own_ids: Callable[[], ArrayLike] | ArrayLike | None = None
    ids_from: str = "content"
    content: Callable[[], Iterator[bytes]] | None = None
    values: NDArray[Any] | None = None
    columns: tuple[str, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    seal: str | Callable[[], str] = ""
    read_texts: Read | None = None
    stamps: FileStamps | None = None
    groups: Any = None
    times: Any = None
    raw: RawRows | None = None


def assemble(asked: OpenRequest, name: str, found: Pieces) -> Source:
    """Make a checked Source from what an adapter found and the user's options."""
    owner = f"source {name!r}"
    targets = understand(
        found.target,
        owner,
        task=asked.task or found.task,
        classes=asked.classes,
        names=found.class_names or asked.class_names,
        rows=found.count,
    )
    ids, ids_from = _ids(asked, found, targets.labels, owner)
    seal = found.seal
    if ids_from != "content" and not asked.trust_names:
        seal = _sealed(found, ids)
    read, shape = found.read, found.shape
    if asked.size is not None:
        if found.kind != "image":
            raise InputError(
                f"{parameter_names.of('size', 'wn.open')} is for images only; {owner} is a {found.kind} "
                f"of shape {shape}."
            )
        if shape[1:] != (asked.size, asked.size):
            read, shape = Resized(read, asked.size), (shape[0], asked.size, asked.size)
    split, stated = found.origin.get("split"), asked.stated()
    beside = groups_and_times(asked, found.groups, found.times, found.count, owner)
    return Source(
        **beside,
        name=name if split in (None, "train") else f"{name}:{split}",
        read=read,
        size=found.count,
        shape=shape,
        kind=found.kind,
        task=targets.task,
        labels=targets.labels,
        classes=targets.classes,
        make_ids=ids,
        columns=found.columns,
        seal=seal,
        read_texts=found.read_texts,
        raw=found.raw,
        origin={
            "adapter": found.adapter,
            "ids": ids_from,
            **found.origin,
            **({} if found.raw is None else {"encoding": found.raw.record}),
            **({"size": asked.size} if asked.size else {}),
            **({"trusted": "names"} if asked.trust_names else {}),
            **beside_origin(asked),
            **({"opening": stated} if stated else {}),
        },
    )


def _ids(asked: OpenRequest, found: Pieces, labels: NDArray[Any] | None, owner: str) -> tuple[Any, str]:
    if asked.ids is not None and asked.id_column is None:
        given = checks.ids(owner, asked.ids)
        if given.size != found.count:
            raise InputError(f"ids of {owner} must have {found.count} entries, one per example; got {given.size}.")
        return given, "given"
    if found.own_ids is not None:
        own = found.own_ids
        return own if callable(own) else checks.ids(owner, own), found.ids_from
    if asked.id_column is not None:
        raise InputError(f"ids of wn.open must be an array here, because {owner} has no columns; got {asked.ids!r}.")
    return ContentIds(found.content or ContentRows(found.read, found.count), labels), "content"


def _sealed(found: Pieces, ids: Any) -> str | Callable[[], str]:
    """The seal of examples whose ids are names: of their content, whatever they are called."""
    if callable(found.seal):
        return found.seal
    if found.values is not None:
        return found.seal + array_seal(found.values, np.asarray(ids))
    return ContentSeal(found.content or ContentRows(found.read, found.count), ids, found.stamps)


@dataclass(frozen=True, eq=False)
class Held:
    """Reader for an array in memory."""

    values: NDArray[Any]

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        return self.values[positions]


@dataclass(frozen=True, eq=False)
class ContentRows:
    """The bytes of each example, as returned by `read`."""

    read: Read
    count: int

    def __call__(self) -> Iterator[bytes]:
        """Yield one item per example, in order."""
        for start in range(0, self.count, BLOCK):
            for row in self.read(np.arange(start, min(start + BLOCK, self.count))):
                yield np.ascontiguousarray(row).tobytes()


@dataclass(frozen=True, eq=False)
class ContentIds:
    """Computes content ids when called."""

    content: Callable[[], Iterator[bytes]]
    labels: NDArray[Any] | None

    def __call__(self) -> NDArray[np.str_]:
        """Return the ids, in order."""
        return content_ids(self.content(), self.labels)


def renamed(source: Source, asked: OpenRequest) -> Source:
    """Return an existing Source with the name, class numbers, groups and times requested."""
    followed = source if asked.classes is None else source.with_classes(asked.classes)
    if asked.group is not None or asked.time is not None:
        beside = groups_and_times(asked, None, None, len(source), f"source {source.name!r}")
        origin = {**followed.origin, **beside_origin(asked)}
        followed = replace(followed, **beside, origin=origin, make_ids=followed.ids)
    return followed if asked.name is None else replace(followed, name=asked.name, make_ids=followed.make_ids)
