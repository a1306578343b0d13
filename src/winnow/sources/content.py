"""The content of examples as numbers: equal if and only if two examples hold the same values, whatever their names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.progress import track
from .row_groups import forget_groups

__all__ = ["content_keys"]

BYTES = 16 << 20  # read at a time


def content_keys(source: Source) -> NDArray[np.uint64]:
    """One number per example, a hash of its decoded content without the label, in the order of the source.

    Of text it is the string that counts: token ids leave out capitals and the end of a long text. Of a table that is
    encoded it is the raw cells.

    Two of a million different examples have the same number with a probability of about 3e-8.
    """
    if source.raw is not None:
        return source.raw.keys
    out = np.empty(len(source), dtype=np.uint64)
    step = max(1, BYTES // (4 * max(1, int(np.prod(source.shape)))))
    for start in track(range(0, len(source), step), "content"):
        where = np.arange(start, min(start + step, len(source)))
        digests = b"".join(hashlib.blake2b(row, digest_size=8).digest() for row in _contents(source, where))
        out[where] = np.frombuffer(digests, dtype="<u8")
    forget_groups()
    return out


def _contents(source: Source, where: NDArray[np.int64]) -> Iterator[bytes | memoryview]:
    if source.kind == "text" and source.read_texts is not None:
        yield from (text.encode("utf-8", "surrogatepass") for text in source.read_texts(where))
        return
    values = source.read(where)
    if values.dtype.kind == "f":
        values = values + 0.0  # minus zero equals zero
    yield from (row.data for row in np.ascontiguousarray(values).reshape(len(values), -1))
