"""Files that appear whole or not at all, JSON with stable bytes, and fingerprints of content."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import StoreError

__all__ = ["PART", "atomic", "file_name", "fingerprint", "json_ready", "read_json", "write_json"]


PART = ".winnow-part"  # how files end that are still being written


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success move it there, on failure leave nothing.

    The temporary file is flushed to disk before the move, so after a crash `path` is either the old
    file or the whole new one.
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
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_json(path: str | Path, value: object) -> None:
    """Write JSON atomically, keys sorted so that equal content is equal bytes."""
    with atomic(path) as part:
        part.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read JSON; a missing or damaged file is a `StoreError` that names it."""
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}.") from None


def fingerprint(*parts: object) -> str:
    """A short, stable fingerprint of JSON-like values and byte strings."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=str).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_name(name: str) -> str:
    """A file name for any text: itself if it is fit for one everywhere, else made fit and told apart by a hash."""
    fit = re.sub(r"[^a-z0-9._@+=-]+", "_", name.lower()).lstrip(".")[:60]
    return name if fit == name else f"{fit}~{fingerprint(name)[:10]}"


def json_ready(value: Any) -> Any:
    """A copy in plain values, with None for numbers that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if hasattr(value, "tolist"):
        return json_ready(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
