"""Texts: lists and arrays of strings, and what all adapters that find text have in common.

A source of texts reads token ids, so that every network and the one training loop work on it; the strings stay
reachable through `Source.texts`. Two texts per example (a question and its answer) are joined by a separator token.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.derived_readers import Read
from ..artefacts.source import Source
from ..core.errors import DataError, InputError
from .arrays import given_targets
from .assembly import Held, OpenRequest, Pieces, assemble
from .memory import Remembered
from .splits import without_splits
from .tokens import SEPARATOR, row_length, token_rows

__all__ = ["TextContent", "TokenReader", "are_texts", "joined", "open_texts", "text_pieces"]

BLOCK = 4096  # texts at a time


def are_texts(value: Any) -> bool:
    """Whether a list or an array holds strings, or pairs of strings, as far as its first item tells."""
    if hasattr(value, "detach") or hasattr(value, "tocsr"):
        return False
    if not isinstance(value, list):
        kind = str(getattr(value, "dtype", getattr(value, "type", ""))).lower()
        if not hasattr(value, "__array__") or not kind.startswith(("object", "str", "<u", "large_string")):
            return False
        value = np.asarray(value)
        value = value if value.ndim == 1 else []
    first = value[0] if len(value) else None
    if isinstance(first, list | tuple):
        return len(first) == 2 and all(isinstance(one, str) for one in first)
    return isinstance(first, str)


def open_texts(inputs: Any, target: Any, asked: OpenRequest) -> Source:
    """Make a Source over strings in memory."""
    name = asked.named(None, "texts")
    owner = f"source {name!r}"
    without_splits(asked.split, owner)
    raw = given_targets(target, asked, owner)
    asked.refuse("columns", "text", of="lists of strings")
    texts = _strings(inputs if isinstance(inputs, list) else np.asarray(inputs).tolist(), owner)
    return assemble(
        asked,
        name,
        Pieces(
            adapter="texts",
            count=len(texts),
            target=raw,
            origin={"labels": raw is not None},
            **text_pieces(Held(texts), len(texts), owner),
        ),
    )


def _strings(items: Sequence[Any], owner: str) -> NDArray[np.object_]:
    """Return strings, or pairs of them joined, as an array; anything else raises."""
    out = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        both = tuple(item) if isinstance(item, list | tuple) else (item,)
        if not all(isinstance(one, str) for one in both) or len(both) not in (1, 2):
            raise InputError(
                f"X of {owner} must be all strings, or all pairs of strings; got {type(item).__name__} at position "
                f"{place}."
            )
        out[place] = joined(both)
    return out


def joined(parts: Sequence[str]) -> str:
    """Join the texts of one example by the separator."""
    return f" {SEPARATOR} ".join(parts)


def text_pieces(texts: Read, count: int, owner: str, key: Hashable = None) -> dict[str, Any]:
    """Return what `Pieces` needs to know about texts.

    Parameters
    ----------
    texts
        Returns the strings at an array of positions.
    count
        How many there are.
    owner
        Their owner, named in messages.
    key
        What identifies the texts, if they lie in files: then token ids are computed when they are read, and kept
        while there is room. If not given, they are computed now.
    """
    length = row_length(_blocks(texts, count))
    reader = TokenReader(texts, length)
    read: Read = reader
    if key is None:
        read = Held(np.concatenate([token_rows(block, length) for block in _blocks(texts, count)]))
    else:
        read = Remembered(reader, count, (length,), (key, length), "int32")
    if not read(np.arange(min(count, BLOCK))).any() and not any(any(map(str.split, b)) for b in _blocks(texts, count)):
        raise DataError(f"{owner} holds only empty texts.")
    content = TextContent(texts, count)
    return {"read": read, "read_texts": texts, "shape": (length,), "kind": "text", "content": content}


def _blocks(texts: Read, count: int) -> Iterator[NDArray[np.object_]]:
    for start in range(0, count, BLOCK):
        yield texts(np.arange(start, min(start + BLOCK, count)))


@dataclass(frozen=True, eq=False)
class TokenReader:
    """Reads texts as rows of token ids."""

    texts: Read
    length: int

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the token ids at these positions."""
        return token_rows(self.texts(positions), self.length)


@dataclass(frozen=True, eq=False)
class TextContent:
    """The bytes of each text, complete and as written."""

    texts: Read
    count: int

    def __call__(self) -> Iterator[bytes]:
        """Yield one item per text, in order."""
        for block in _blocks(self.texts, self.count):
            for text in block:
                yield text.encode("utf-8", "surrogatepass")
