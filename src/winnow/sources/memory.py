"""What readers keep in memory: recently used parts of files, up to a fixed number of bytes.

Readers hold paths, never data or open files, so that a Source is small to pickle and a worker process opens its own
files. What they read is cached here, per process, and the least recently used part is dropped first. A part larger
than the limit is kept alone: a file that was just read completely is likely to be needed again.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.remote import is_url, remote_stamp, url_of

__all__ = ["Recent", "Reloaded", "ReloadedCells", "Remembered", "Stamp", "stamp_of", "unchanged"]

FILES = 1 << 30  # bytes of whole files (idx, npz, csv) kept
PICTURES = 512 << 20  # bytes of decoded images and token ids kept; a larger set is decoded again each time
Stamp = tuple[int, int]


class Recent:
    """Recently used values by key, bounded by their total size in bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: OrderedDict[object, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        # A forked worker must inherit neither a lock that another thread holds nor an open file.
        os.register_at_fork(after_in_child=self.clear)

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the value under `key`, and compute it if it is not cached."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
        value = make()
        with self._lock:
            self._held[key] = (value, int(getattr(value, "nbytes", 1)))
            while len(self._held) > 1 and self.nbytes > self.limit:
                self._held.popitem(last=False)
        return value

    def keep_only(self, key: object) -> None:
        """Forget everything but the value under `key`."""
        with self._lock:
            self._held = OrderedDict((other, value) for other, value in self._held.items() if other == key)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(size for _, size in self._held.values())

    def clear(self) -> None:
        """Forget everything."""
        self._held = OrderedDict()
        self._lock = threading.Lock()


_files = Recent(FILES)


def stamp_of(path: str | Path) -> Stamp:
    """Size and time of change of a file, or version at a URL: enough to notice a change after it was opened."""
    if is_url(path):
        return remote_stamp(url_of(path))
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def unchanged(path: str, stamp: Stamp) -> None:
    """Raise if a file was changed or removed after it was opened."""
    try:
        same = stamp_of(path) == stamp
    except OSError:
        same = False
    if not same:
        raise DataError(f"{path} was changed or removed after it was opened; open it again.")


@dataclass(frozen=True)
class Reloaded:
    """Reads from the array returned by `load(*arguments)`, which is loaded when first needed in each process.

    Parameters
    ----------
    load
        A module-level function, so that it pickles by name.
    arguments
        Its arguments; paths as strings.
    stamps
        The files it depends on, with their stamps.
    """

    load: Callable[..., Any]
    arguments: tuple[Any, ...]
    stamps: tuple[tuple[str, Stamp], ...]

    @property
    def held(self) -> Any:
        """What `load` returned."""
        return _files.get((self.load, self.arguments, self.stamps), self._load)

    @property
    def values(self) -> NDArray[Any]:
        """The whole array."""
        return np.asarray(self.held)

    def primed(self, values: Any) -> Self:
        """Return itself, with what is already loaded cached for the first read."""
        _files.get((self.load, self.arguments, self.stamps), lambda: values)
        return self

    def _load(self) -> Any:
        for path, stamp in self.stamps:
            unchanged(path, stamp)
        return self.load(*self.arguments)

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        return self.values[positions]


@dataclass(frozen=True)
class ReloadedCells(Reloaded):
    """The same for an arrow table."""

    def __call__(self, positions: NDArray[np.int64]) -> Any:
        """Return the rows at these positions."""
        return self.held.take(np.asarray(positions))


_pictures = Recent(PICTURES)


class _Decoded:
    """Images or token ids read so far; memory is used as they are filled in."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.values = np.empty(shape, dtype=dtype)
        self.known = np.zeros(shape[0], dtype=bool)
        self.nbytes = self.values.nbytes


@dataclass(frozen=True, eq=False)
class Remembered:
    """Reads through a reader that decodes, and decodes each example only once per process if all of them fit.

    Parameters
    ----------
    read
        The reader that decodes.
    count, shape
        The number of examples, and the shape of one.
    key
        What identifies the examples: files with their stamps, column, form.
    dtype
        The type of their numbers.
    """

    read: Callable[[NDArray[np.int64]], NDArray[Any]]
    count: int
    shape: tuple[int, ...]
    key: Hashable
    dtype: str = "uint8"

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        asked = np.asarray(positions, dtype=np.int64)
        if self.count * prod(self.shape) * np.dtype(self.dtype).itemsize > PICTURES:
            return self.read(asked)
        kept: _Decoded = _pictures.get(self.key, lambda: _Decoded((self.count, *self.shape), self.dtype))
        missing = np.unique(asked[~kept.known[asked]])
        if missing.size:
            kept.values[missing] = self.read(missing)
            kept.known[missing] = True
        return kept.values[asked]
