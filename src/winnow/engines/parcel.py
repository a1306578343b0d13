"""Parcels: a function and the data that all its jobs share, packed once and unpacked once per worker.

Large arrays are packed beside the rest, unchanged, and a worker on the same machine maps them instead of reading them:
the workers then share one copy, and a page that is written to is copied first. Only what this process packed is ever
unpacked; no file of a user is.
"""

from __future__ import annotations

import mmap
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

__all__ = ["Parcel", "packed", "parcel_file", "unpacked_file"]

LINE = 64  # bytes at whose multiples arrays start
_opened: dict[str, Any] = {}  # the last parcel of this worker, by its name


class Parcel:
    """Something pickled, with its large arrays beside it.

    Parameters
    ----------
    head
        The pickle without its arrays.
    arrays
        Their bytes.
    """

    def __init__(self, head: bytes, arrays: list[Any]) -> None:
        self.head, self.arrays, self.name = head, arrays, uuid4().hex

    def __reduce__(self) -> Any:
        return _parcel, (self.head, [pickle.PickleBuffer(part) for part in self.arrays], self.name)

    @property
    def nbytes(self) -> int:
        """Bytes of everything."""
        return len(self.head) + sum(len(part) for part in self.arrays)

    def opened(self) -> Any:
        """Return what was packed, with arrays that may be written to."""
        return pickle.loads(self.head, buffers=[bytearray(part) for part in self.arrays])

    def opened_once(self) -> Any:
        """Return what was packed; the same object as long as this worker opens no other parcel."""
        return _kept(self.name, self.opened)


def _parcel(head: bytes, arrays: list[Any], name: str) -> Parcel:
    made = Parcel(head, [memoryview(part) for part in arrays])
    made.name = name
    return made


def packed(value: Any) -> Parcel:
    """Pack a value; functions and classes from a script or a notebook travel with it."""
    try:
        import cloudpickle
    except ImportError:  # before version 1.6, joblib had its own copy
        from joblib.externals import cloudpickle
    arrays: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return Parcel(head, [array.raw() for array in arrays])


@contextmanager
def parcel_file(value: Any) -> Iterator[str]:
    """Pack a value into a file for the workers of this machine; it is removed at the end, even after kill -9."""
    from joblib.externals.loky.backend import resource_tracker

    parcel = packed(value)
    with tempfile.NamedTemporaryFile(prefix="winnow-parcel-", delete=False) as file:
        resource_tracker.register(file.name, "file")
        for part in (parcel.head, *parcel.arrays):
            file.write(len(part).to_bytes(LINE, "little"))
            file.write(part)
            file.write(bytes(-len(part) % LINE))
    try:
        yield file.name
    finally:
        resource_tracker.unregister(file.name, "file")
        Path(file.name).unlink(missing_ok=True)


def unpacked_file(name: str) -> Any:
    """Return what a file holds, in a worker; read once."""

    def read() -> Any:
        with Path(name).open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        parts, at = [], 0
        while at < len(whole):
            size = int.from_bytes(whole[at : at + LINE], "little")
            parts.append(whole[at + LINE : at + LINE + size])
            at += LINE + size + -size % LINE
        return pickle.loads(parts[0], buffers=parts[1:])

    return _kept(name, read)


def _kept(name: str, read: Callable[[], Any]) -> Any:
    if name not in _opened:
        _opened.clear()  # before the next one is read, so that there is never room for two
        _opened[name] = read()
    return _opened[name]
