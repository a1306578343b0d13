"""Files that appear whole or not at all, JSON with stable bytes, and fingerprints of content."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from .errors import StoreError, reason

__all__ = [
    "PART",
    "Pieces",
    "atomic",
    "atomic_folder",
    "file_digest",
    "file_name",
    "fingerprint",
    "plain",
    "read_json",
    "write_json",
    "written_files",
]


FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
PART = ".winnow-part"  # suffix of files that are still being written
_written: ContextVar[list[Path] | None] = ContextVar("written", default=None)


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; on success move it there, on failure delete it.

    The temporary file is flushed to disk before the move, and the folder after it, so after a crash `path` is either
    the old file or the complete new one.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=PART)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}.") from None
    os.close(handle)
    part = Path(name)
    try:
        with _said_as_store_error(target):
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
        _flush_folder(target.parent)
        if (files := _written.get()) is not None:
            files.append(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _said_as_store_error(target: Path) -> Iterator[None]:
    """Turn a full disk, a limit or a failing device, in whatever library it shows, into one sentence."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        in_words = re.search(r"os error (\d+)", str(error))  # as libraries in Rust say it
        number = int(in_words[1]) if in_words else getattr(error, "errno", None)
        if number not in FULL:
            raise
        raise StoreError(f"cannot write {target}: {os.strerror(number)}.") from None


def _flush_folder(folder: Path) -> None:
    """Put the new name on disk too; some file systems cannot, and say so."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


@contextmanager
def written_files() -> Iterator[list[Path]]:
    """Collect the files that `atomic` puts in place within the block."""
    files: list[Path] = []
    token = _written.set(files)
    try:
        yield files
    finally:
        _written.reset(token)


def file_digest(path: str | Path) -> str:
    """Return the digest of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder next to `path`; on success move it there, on failure delete it.

    `path` must not exist, or be an empty folder.
    """
    target = Path(path)
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise StoreError(f"cannot write {target}: it exists and is not an empty folder.")
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=PART))
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write {target}: {error.strerror}.") from None
    try:
        yield part
        part.chmod(0o777 & ~_umask())
        part.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_json(path: str | Path, value: object, indent: int | None = 1) -> None:
    """Write JSON atomically, with sorted keys, so that the same content gives the same bytes."""
    with atomic(path) as part:
        part.write_text(json.dumps(value, indent=indent, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read JSON; a missing or damaged file raises a `StoreError` that names it."""
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"cannot read {path}: {reason(error)}.") from None


@dataclasses.dataclass(frozen=True)
class Pieces:
    """A byte string too large to be held: how long it is, and its pieces, one after the other."""

    size: int
    each: Callable[[], Iterable[bytes]]


def fingerprint(*parts: object) -> str:
    """Return a short, stable fingerprint of JSON-like values and byte strings, which may come in `Pieces`."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, Pieces):
            digest.update(part.size.to_bytes(8, "little"))
            for piece in part.each():
                digest.update(piece)
            continue
        data = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=str).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_name(name: str) -> str:
    """Return a file name for any text: the text if it is valid on every system, otherwise a valid form with a hash."""
    fit = re.sub(r"[^a-z0-9._@+=-]+", "_", name.lower()).lstrip(".")[:60]
    return name if fit == name else f"{fit}~{fingerprint(name)[:10]}"


def plain(value: Any) -> Any:
    """Return a copy in JSON values: None for NaN and infinity, text for unknown types.

    >>> import numpy as np
    >>> plain({"keep": np.float32(0.5), "seeds": (0, 1), "loss": math.nan, "out": Path("run")})
    {'keep': 0.5, 'seeds': [0, 1], 'loss': None, 'out': 'run'}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value)]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    return str(value)
