"""Embeddings of more examples than fit into memory: shards of rows in one file, each recorded when it is whole.

    out/embeddings.npy            all rows, in the order of the source; mapped, not read
    out/steps/embed/00000.json    one record per finished shard: under the key of the step and the digest of its rows
    out/steps/embed.json          the record of the whole file

A shard has a fixed place in the file, about a million rows or 256 MB. A run that was killed goes on at the first shard
without a record. If rows were damaged, their digest is not that of the record, and that shard alone is made again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..artefacts.frozen_arrays import mapped_rows
from ..core import checks
from ..core.errors import StoreError, reason
from ..core.files import atomic, file_digest, fingerprint
from ..core.progress import task
from ..core.run import Run, has_record

__all__ = ["FILE", "MappedRows", "embedded_shards", "shard_length"]

FILE = "embeddings.npy"
STEP = "embed"
ROWS = 1 << 20
BYTES = 256 << 20  # of the inputs or of the embeddings of a shard, whichever is more
BATCH = 512  # a shard is whole batches, so that rounding is that of all examples at once
READ = 8 << 20  # bytes of a file read at a time

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class MappedRows:
    """The file of a finished run."""

    values: Rows

    def save(self, path: str | Path) -> None:
        """Do nothing: shards are written one by one."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Map the file."""
        try:
            return cls(mapped_rows(Path(path)))
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read: {reason(error)}.") from None


def shard_length(input_bytes: int, output_bytes: int) -> int:
    """Return the number of rows per shard, a power of two, from the bytes of one example and of its embedding."""
    most = min(ROWS, BYTES // max(input_bytes, output_bytes, 1))
    return max(BATCH, 1 << max(0, most.bit_length() - 1))


def embedded_shards(
    run: Run,
    rows_of: Callable[[NDArray[np.int64]], Rows],
    count: int,
    width: int,
    length: int,
    key: Sequence[object],
) -> Rows:
    """Make the shards that a run directory does not hold yet; return all rows, mapped.

    Parameters
    ----------
    run
        An open run with a directory.
    rows_of
        Returns the embeddings at positions that follow each other.
    count, width
        The number of examples, and of numbers in each embedding.
    length
        Rows per shard.
    key
        What the embeddings depend on.

    Raises
    ------
    InputError
        If an embedding is not finite.
    StoreError
        If the file cannot be written.
    """
    assert run.path is not None
    whole = [*key, count, width, length]
    found = run.get(STEP, MappedRows, key=whole)
    if found is not None:
        return found.values
    path = run.path / FILE
    try:
        first = _place_for(path, count, width)
        with path.open("r+b") as file, task("embedding", count) as advance:
            for number, start in enumerate(range(0, count, length)):
                stop, name = min(start + length, count), f"{STEP}/{number:05d}"
                place = first + 4 * width * start
                if not _finished(run, name, whole, file, place, 4 * width * (stop - start)):
                    begun = time.perf_counter()
                    rows = _checked(rows_of(np.arange(start, stop)), width)
                    file.seek(place)
                    file.write(rows.data)
                    file.flush()
                    os.fsync(file.fileno())
                    digest = hashlib.blake2b(rows.data, digest_size=16).hexdigest()
                    run.record(name, FILE, {}, time.perf_counter() - begun, key=[*whole, digest])
                advance(stop - start)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write {path}: {reason(error)}.") from None
    run.record(STEP, FILE, {FILE: file_digest(path)}, run.seconds(f"{STEP}/"), key=whole)
    return MappedRows.load(path).values


def _place_for(path: Path, count: int, width: int) -> int:
    """Make the file with room for all rows, if it is not there; return where the first row starts."""
    head = _header(count, width)
    size = len(head) + 4 * count * width
    if path.is_file() and path.stat().st_size == size:
        with path.open("rb") as file:
            if file.read(len(head)) == head:
                return len(head)
    with atomic(path) as part, part.open("wb") as file:
        file.write(head)
        file.truncate(size)
    return len(head)


def _header(count: int, width: int) -> bytes:
    """The first bytes of a .npy file with a table of float32."""
    import io

    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": "<f4", "fortran_order": False, "shape": (count, width)})
    return made.getvalue()


def _finished(run: Run, name: str, key: Sequence[object], file: IO[bytes], place: int, size: int) -> bool:
    """Whether a shard is recorded, and its rows are those that were written."""
    assert run.path is not None
    if not (run.path / "steps" / f"{name}.json").exists():
        return False
    digest = hashlib.blake2b(digest_size=16)
    file.seek(place)
    while size:
        part = file.read(min(READ, size))
        if not part:
            return False
        digest.update(part)
        size -= len(part)
    return has_record(run.path, name, fingerprint([*key, digest.hexdigest()]))


def _checked(rows: NDArray[Any], width: int) -> Rows:
    made = np.ascontiguousarray(rows, dtype="<f4").reshape(len(rows), width)
    return checks.finite("embeddings", "embed", made)
