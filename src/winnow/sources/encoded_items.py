"""Items of any kind through a function that turns a batch of them into vectors: audio, graphs, video, multimodal data.

The function gets a list of items, or what a Source reads (an array of images, rows or tensors, a list of strings), and
returns one row of numbers per item. It is called once over everything, when the data are opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, InputError
from ..core.files import fingerprint
from ..core.progress import track
from .arrays import array_pieces, given_targets, to_numpy
from .assembly import Held, OpenRequest, assemble
from .splits import without_splits

__all__ = ["Encode", "encoded_source", "function_name", "open_items", "takes_a_batch", "vectors_by", "vectors_of"]

BATCH = 256  # items per call
Encode = Callable[[Any], Any]


def takes_a_batch(value: Any) -> bool:
    """Whether a value is a function that needs an argument, and neither a class, a module nor a factory."""
    if not callable(value) or isinstance(value, type) or hasattr(value, "state_dict"):
        return False
    try:
        inspect.signature(value).bind()
    except TypeError:
        return True
    except ValueError:  # a builtin without a signature
        return True
    return False


def function_name(function: Encode) -> str:
    """The name of a function, for messages and provenance."""
    return str(getattr(function, "__qualname__", type(function).__name__))


def open_items(items: Any, target: Any, asked: OpenRequest, function: Encode) -> Source:
    """Make a Source of vectors from a list of any items, with the labels beside it."""
    name = asked.named(None, "items")
    owner = f"source {name!r}"
    without_splits(asked.split, owner)
    asked.refuse("columns", "text", of="items that a function encodes")
    if not len(items):
        raise InputError(f"X of {owner} must not be empty.")
    raw = given_targets(target, asked, owner)
    values = vectors_of(function, _batches(items), len(items))
    origin = {"labels": raw is not None, "encode": function_name(function)}
    return assemble(asked, name, array_pieces("items", Held(values), values, "table", raw, origin))


def encoded_source(source: Source, function: Encode) -> Source:
    """Return the same examples, ids and labels, with the vectors that a function makes of them."""
    values = vectors_by(function, source)
    return replace(
        source,
        read=Held(values),
        shape=values.shape[1:],
        kind="table",
        columns=tuple(f"x{number}" for number in range(values.shape[1])),
        origin={**source.origin, "encode": function_name(function)},
        make_ids=source.ids,
        seal=f"{source.fingerprint} encoded {fingerprint(values[source.order].tobytes())}",
        read_texts=None,
        raw=None,
    )


def vectors_by(function: Encode, source: Source) -> NDArray[np.float32]:
    """Return the vectors that a function makes of the examples of a source."""
    return vectors_of(function, _read(source), len(source))


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), BATCH):
        yield [items[place] for place in range(start, min(start + BATCH, len(items)))]


def _read(source: Source) -> Iterator[Any]:
    for start in range(0, len(source), BATCH):
        where = np.arange(start, min(start + BATCH, len(source)))
        yield source.read(where) if source.read_texts is None else source.read_texts(where).tolist()


def vectors_of(function: Encode, batches: Iterator[Any], count: int) -> NDArray[np.float32]:
    """Call the function on every batch and check what it returns: as many finite rows of one width as there are items.

    Parameters
    ----------
    function
        From a batch to vectors.
    batches
        The batches, in order.
    count
        How many items there are in all.
    """
    owner = f"function {function_name(function)!r}"
    out: NDArray[np.float32] | None = None
    start = 0
    for batch in track(batches, "encoding", -(-count // BATCH)):
        rows = to_numpy(function(batch), "the result", owner)
        if rows.ndim != 2 or len(rows) != len(batch) or rows.dtype.kind not in "biuf" or not rows.shape[1]:
            raise DataError(
                f"{owner} must return one row of numbers per item, here {len(batch)} rows; got shape {rows.shape} of "
                f"{rows.dtype}."
            )
        if out is None:
            out = np.empty((count, rows.shape[1]), dtype=np.float32)
        if rows.shape[1] != out.shape[1]:
            raise DataError(f"{owner} must return rows of one width; got {out.shape[1]} and {rows.shape[1]} numbers.")
        with np.errstate(over="ignore"):
            out[start : start + len(rows)] = rows
        bad = int((~np.isfinite(out[start : start + len(rows)])).any(axis=1).sum())
        if bad:
            raise DataError(f"{owner} must return finite numbers; {bad} of {len(rows)} rows of a batch are not.")
        start += len(rows)
    assert out is not None
    return out
