"""Streams, read once to disk: datasets that can only be iterated become files that can be read by position.

The files lie in the directory that `cache=` names, or in a temporary one that is removed when Python ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from ..artefacts.source import Source
from ..core.errors import DataError, InputError, reason
from ..core.parameter_names import of
from ..core.progress import track
from .arrays import canonical
from .assembly import Held, OpenRequest, Pieces, assemble
from .item_form import item_form, number_of
from .npy import mapped_pieces
from .splits import without_splits
from .texts import text_pieces

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["cache_directory", "is_stream", "open_stream", "to_parquet"]


def is_stream(value: Any) -> bool:
    """Whether this is a torch IterableDataset, told without importing torch."""
    return any(
        kind.__name__ == "IterableDataset" and kind.__module__.split(".")[0] == "torch" for kind in type(value).__mro__
    )


def cache_directory(given: Any) -> Path:
    """The empty directory to write to: the one given, or a temporary one that is removed when Python ends."""
    if given is None:
        path = Path(tempfile.mkdtemp(prefix="winnow-stream-"))
        atexit.register(_remove, path, os.getpid())
        return path
    path = Path(given)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{of('cache', 'wn.open')} must be a new or empty directory; got {path}.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # not in a forked worker
        shutil.rmtree(path, ignore_errors=True)


def open_stream(dataset: Any, asked: OpenRequest) -> Source:
    """Make a Source over a torch IterableDataset, read once."""
    name = asked.named(None, type(dataset).__name__)
    owner = f"source {name!r}"
    without_splits(asked.split, owner)
    items = iter(dataset)
    first = next(items, None)
    if first is None:
        raise DataError(f"{owner} is empty.")
    form = item_form(first, asked, owner)
    targets: list[Any] = []
    origin: dict[str, Any] = {"dataset": type(dataset).__name__, "labels": form.target or "items"}
    origin |= {} if form.input is None else {"input": form.input}

    def inputs() -> Iterator[tuple[int, Any]]:
        for place, item in enumerate(track(chain([first], items), f"reading {name}")):
            targets.append(number_of(form.pair(item, place, owner)[1]))
            yield place, item

    if isinstance(form.pair(first, 0, owner)[0], str):
        strings = np.array([form.pair(item, place, owner)[0] for place, item in inputs()], dtype=object)
        if not all(isinstance(one, str) for one in strings):
            raise DataError(f"items of {owner} must all be strings, as the first is.")
        found = Pieces(adapter="stream", count=len(strings), **text_pieces(Held(strings), len(strings), owner))
    else:
        file = cache_directory(asked.cache) / "X.npy"
        _write_rows(file, (form.array(item, place, owner) for place, item in inputs()), owner)
        found = mapped_pieces("stream", file, None, origin, owner)
    return _labelled(found, targets, origin, asked, name)


def _labelled(found: Pieces, targets: list[Any], origin: dict[str, Any], asked: OpenRequest, name: str) -> Source:
    raw: Any = None
    if asked.labels is not None and not isinstance(asked.labels, str):
        raw = np.asarray(asked.labels)
    elif any(target is not None for target in targets):
        raw = np.array(targets)
    return assemble(
        asked, name, replace(found, target=raw, origin={**origin, "labels": None} if raw is None else origin)
    )


def _write_rows(file: Path, rows: Iterable[Any], owner: str) -> None:
    """Write rows one after the other as one npy file, whose header is completed at the end."""
    count, shape, dtype = 0, None, np.dtype(np.float32)
    with file.open("wb") as out:
        for row in rows:
            made = canonical(row[None], owner)[0][0]
            if shape is None:
                shape, dtype = made.shape, made.dtype
                start = _header(out, 0, shape, dtype)
            if made.shape != shape:
                raise DataError(
                    f"items of {owner} must have the same shape; item {count} has {made.shape}, the first one {shape}."
                )
            out.write(np.ascontiguousarray(made, dtype=dtype).tobytes())
            count += 1
        out.seek(0)
        assert shape is not None
        if _header(out, count, shape, dtype) != start:
            raise DataError(f"{owner} has too many examples to be written as one npy file.")


def _header(out: Any, count: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Write the header; numpy leaves room in it for a first axis that grows."""
    about = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": (count, *shape)}
    npy.write_array_header_1_0(out, about)
    return int(out.tell())


def to_parquet(tables: Iterable[pa.Table], folder: Path, owner: str) -> Path:
    """Write tables one after the other to a parquet file, as row groups, in the types of the first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = folder / "part-00000.parquet"
    writer = None
    try:
        for table in tables:
            if writer is None:
                writer = pq.ParquetWriter(file, table.schema)
            writer.write_table(table.cast(writer.schema))
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{owner} must have the same columns throughout: {reason(error)}.") from None
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise DataError(f"{owner} has no rows.")
    return file
