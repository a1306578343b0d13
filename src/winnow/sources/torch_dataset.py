"""Torch map-style datasets: anything with `len()` and `[position]` that returns an input, an input and a target, or a
dictionary with both.

Positions are the ids: a dataset may augment, so an example may not have the same content twice. Targets come from
`.targets`, `.labels` or `.tensors` if these agree with the first item and there is no target transform; otherwise from
one pass over the data.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, InputError
from ..core.progress import track
from .arrays import canonical, raw_targets, to_numpy
from .assembly import OpenRequest, Pieces, assemble
from .item_form import ItemForm, item_form, number_of
from .label_rows import listed_labels
from .splits import without_splits
from .texts import text_pieces

__all__ = ["is_map_style", "open_torch"]

LOOKS = 256  # items that a fingerprint looks at if names are trusted
TWICE = 4  # items that are read twice, to notice augmentation
BLOCK = 256  # items at a time


def is_map_style(what: Any) -> bool:
    """Whether this can be indexed by position."""
    return hasattr(what, "__getitem__") and hasattr(what, "__len__")


def open_torch(dataset: Any, asked: OpenRequest) -> Source:
    """Make a Source over a map-style dataset."""
    name = asked.named(None, type(dataset).__name__)
    owner = f"source {name!r}"
    if not is_map_style(dataset):
        raise InputError(
            f"what of wn.open must be a map-style dataset, with len() and [position]; got a {type(dataset).__name__}, "
            "which cannot be indexed."
        )
    without_splits(asked.split, owner)
    count = len(dataset)
    if count == 0:
        raise DataError(f"{owner} is empty.")
    item = dataset[0]
    form = item_form(item, asked, owner)
    first, target = form.pair(item, 0, owner)
    raw, found = _targets(dataset, count, form, target, asked, owner)
    names = getattr(dataset, "classes", None)
    usable = isinstance(names, (list, tuple)) and all(isinstance(item, str) for item in names)
    origin = {"dataset": type(dataset).__name__, "labels": found}
    if form.input is not None:
        origin["input"] = form.input
    if isinstance(first, str):
        inputs = text_pieces(TextItems(dataset, form, owner), count, owner)
    else:
        looks = LOOKS if asked.trust_names else None
        row, kind = canonical(form.array(item, 0, owner)[None], owner)
        reader = Items(dataset, row.shape[1:], owner, form)
        inputs = {"read": reader, "shape": reader.shape, "kind": kind, "seal": Seal(reader, count, looks)}
    return assemble(
        asked,
        name,
        Pieces(
            adapter="torch",
            count=count,
            target=raw,
            class_names=tuple(names) if usable and names and _fits(raw, len(names)) else (),
            own_ids=np.arange(count),
            ids_from="positions",
            origin=origin,
            **inputs,
        ),
    )


def _fits(raw: NDArray[Any] | None, classes: int) -> bool:
    return (
        raw is not None
        and raw.ndim == 1
        and raw.dtype.kind in "iu"
        and bool((raw >= 0).all() and (raw < classes).all())
    )


def _targets(
    dataset: Any, count: int, form: ItemForm, first: Any, asked: OpenRequest, owner: str
) -> tuple[NDArray[Any] | None, str | None]:
    """Return the raw targets and where they were found."""
    if asked.task == "unlabelled":
        return None, None
    if asked.labels is not None and not isinstance(asked.labels, str):
        return raw_targets(asked.labels, owner), "given"
    if isinstance(asked.labels, str) and form.input is None:
        if getattr(dataset, asked.labels, None) is None:
            raise InputError(f"labels of wn.open must be an attribute of {owner}; it has no {asked.labels!r}.")
        return raw_targets(getattr(dataset, asked.labels), owner), asked.labels
    if first is None:
        return None, None
    for word, known in _attributes(dataset):
        if len(known) == count and known.ndim <= 2 and np.array_equal(known[0], number_of(first)):
            return known, word
    passed = [form.pair(dataset[place], place, owner)[1] for place in track(range(count), "reading targets")]
    lists = listed_labels(passed)
    if lists is not None:
        return lists, form.target or "items"
    try:
        return np.array([number_of(item) for item in passed]), form.target or "items"
    except ValueError:
        raise DataError(f"targets of {owner} must be alike: all numbers, all strings, or rows of one length.") from None


def _attributes(dataset: Any) -> list[tuple[str, NDArray[Any]]]:
    """Return targets that a dataset holds in an attribute, through any number of torch Subsets."""
    if hasattr(dataset, "indices") and hasattr(dataset, "dataset"):
        where = np.asarray(dataset.indices, dtype=np.int64)
        last = where.max(initial=-1)
        return [(word, known[where]) for word, known in _attributes(dataset.dataset) if len(known) > last]
    if getattr(dataset, "target_transform", None) is not None:
        return []
    tensors: Any = getattr(dataset, "tensors", ())
    held = [(word, getattr(dataset, word, None)) for word in ("targets", "labels")]
    held += [("tensors", tensors[1])] if len(tensors) == 2 else []
    arrays = []
    for word, value in held:
        if value is not None and not isinstance(value, (str, dict)) and not callable(value):
            try:
                arrays.append((word, to_numpy(value, "labels", "dataset")))
            except InputError:
                continue  # rows of different lengths, for example: the pass over the data decides
    return [(word, array) for word, array in arrays if array.ndim]


@dataclass(frozen=True, eq=False)
class Items:
    """Reads item by item; every item must have the shape of the first."""

    dataset: Any
    shape: tuple[int, ...]
    owner: str
    form: ItemForm

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        rows = []
        for position in positions.tolist():
            row = canonical(self.form.array(self.dataset[position], position, self.owner)[None], self.owner)[0][0]
            if row.shape != self.shape:
                raise DataError(
                    f"items of {self.owner} must have the same shape; item {position} has {row.shape}, the first one "
                    f"{self.shape}."
                )
            rows.append(row)
        if not rows:
            return canonical(self.form.array(self.dataset[0], 0, self.owner)[None], self.owner)[0][:0]
        return np.stack(rows)


@dataclass(frozen=True, eq=False)
class TextItems:
    """Reads the strings of items."""

    dataset: Any
    form: ItemForm
    owner: str

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        out = np.empty(len(positions), dtype=object)
        for place, position in enumerate(positions.tolist()):
            out[place] = self.form.pair(self.dataset[position], position, self.owner)[0]
            if not isinstance(out[place], str):
                raise DataError(
                    f"items of {self.owner} must all be strings, as the first is; item {position} is a "
                    f"{type(out[place]).__name__}."
                )
        return out


@dataclass(frozen=True, eq=False)
class Seal:
    """The content of all items, if reading one twice gives the same; of an augmenting data set, only its kind."""

    read: Items
    count: int
    looks: int | None = None  # items to look at; all if not given

    def __call__(self) -> str:
        """Read when the fingerprint is first needed."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        kind = f"{type(self.read.dataset).__module__}.{type(self.read.dataset).__qualname__}"
        few = np.unique(np.linspace(0, self.count - 1, min(self.count, TWICE)).astype(np.int64))
        if not np.array_equal(self.read(few), self.read(few)):
            return f"{kind}, augmenting"
        count = self.count if self.looks is None else min(self.count, self.looks)
        where = np.unique(np.linspace(0, self.count - 1, count).astype(np.int64))
        digest = hashlib.blake2b(kind.encode(), digest_size=16)
        for block in track(np.array_split(where, -(-count // BLOCK)), "reading content"):
            digest.update(np.ascontiguousarray(self.read(block)).tobytes())
        return digest.hexdigest()
