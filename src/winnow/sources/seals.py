"""Seals: a digest of the content of all examples, so that changed data never meet an old result.

Ids that are names (an id column, paths, positions) say nothing about what is behind them, so the fingerprint of such a
source includes its seal. The first use reads everything once. For files the digest is then kept in the user's cache
folder under their paths, sizes and times of change: opening them again is quick, and a file that was only touched is
read again and gives the same seal. A file changed in the last seconds is not trusted: its time could stay the same.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.canonical_bytes import array_bytes, id_bytes
from ..artefacts.frozen_arrays import order_of
from ..core.errors import StoreError
from ..core.files import atomic, fingerprint

__all__ = ["ContentSeal", "FileStamps", "array_seal"]

SETTLED = 2e9  # nanoseconds after which a later change gives a file another time
DIGEST = 16  # bytes


@dataclass(frozen=True, eq=False)
class FileStamps:
    """The files that examples come from (path, size, time of change), and what is read from them."""

    files: tuple[tuple[str, int, int], ...]
    what: object = None

    @property
    def settled(self) -> bool:
        """Whether a later change would show."""
        return time.time_ns() - max((changed for _, _, changed in self.files), default=0) > SETTLED


@dataclass(frozen=True, eq=False)
class ContentSeal:
    """Computes the digest of all content, in the order of the ids, when called.

    Parameters
    ----------
    content
        Yields the bytes of every example.
    ids
        The ids, or a function that reads them.
    stamps
        The files behind them, if there are any, under which the digest is kept.
    """

    content: Callable[[], Iterator[bytes]]
    ids: Callable[[], ArrayLike] | ArrayLike
    stamps: FileStamps | None = None

    def __call__(self) -> str:
        """Return the digest."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        ids = np.asarray(self.ids() if callable(self.ids) else self.ids)
        file = None if self.stamps is None else _place(self.stamps, ids)
        if file is not None:
            with suppress(OSError, UnicodeDecodeError):
                kept = file.read_text()
                if len(kept) == 2 * DIGEST and set(kept) <= set("0123456789abcdef"):
                    return kept
        found = self._read(ids)
        if file is not None and self.stamps is not None and self.stamps.settled:
            with suppress(OSError, StoreError), atomic(file) as part:
                part.write_text(found)
        return found

    def _read(self, ids: NDArray[Any]) -> str:
        rows = bytearray()
        for row in self.content():
            rows += hashlib.blake2b(row, digest_size=DIGEST).digest()
        return array_seal(np.frombuffer(rows, dtype=np.uint8).reshape(-1, DIGEST), ids)


def array_seal(values: NDArray[Any], ids: NDArray[Any]) -> str:
    """Digest of inputs in memory, in the order of their ids."""
    digest = hashlib.blake2b(digest_size=DIGEST)
    for part in array_bytes(values, order_of(ids)).each():
        digest.update(part)
    return digest.hexdigest()


def _place(stamps: FileStamps, ids: NDArray[Any]) -> Path | None:
    """Where a digest is kept; None without a home folder."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    key = fingerprint(list(stamps.files), repr(stamps.what), id_bytes(ids, None))
    return folder / "winnow" / "seals" / key
