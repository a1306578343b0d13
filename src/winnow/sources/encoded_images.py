"""Columns of encoded images, as the HF hub stores them: a struct of `bytes` and `path`, or plain binary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, InputError
from .assembly import OpenRequest
from .images import ImageForm, Name, decode, said
from .row_groups import Shards

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EncodedImages", "class_names_in", "encoded_items", "image_column"]


def image_column(schema: pa.Schema, asked: OpenRequest, owner: str) -> str | None:
    """Return the column of encoded images, if there is one; raise if there are several and `columns=` names none."""
    found = [field.name for field in schema if is_encoded(field.type)]
    if asked.columns is not None:
        found = [name for name in found if name in asked.columns]
        if found and len(asked.columns) > 1:
            raise InputError(
                f"columns of wn.open must name only the image column for {owner}; got {', '.join(asked.columns)}."
            )
    if len(found) > 1:
        raise InputError(f"{owner} has {len(found)} image columns ({', '.join(found)}); name one with columns=.")
    return found[0] if found else None


def is_encoded(kind: Any) -> bool:
    """Whether a column may hold encoded images."""
    import pyarrow.types as kinds

    if kinds.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return "bytes" in names and set(names) <= {"bytes", "path"}
    return bool(kinds.is_binary(kind) or kinds.is_large_binary(kind))


def class_names_in(schema: pa.Schema, label: str | None) -> tuple[str, ...]:
    """Class names that the `datasets` library stored in a file's schema."""
    try:
        about = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        names = about["info"]["features"][label].get("names", ())
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()  # metadata of another writer, which says nothing about the classes
    return tuple(map(str, names))


def encoded_items(column: Any, folder: Path) -> list[bytes | Path]:
    """The encoded images of a column; one stored as a path is searched for next to the file."""
    items: list[bytes | Path] = []
    for item in column.to_pylist():
        if isinstance(item, dict):
            data, path = item.get("bytes"), item.get("path")
            items.append(data if data is not None else _beside(folder, path) if path else b"")
        else:
            items.append(item if item is not None else b"")
    return items


def _beside(folder: Path, path: str) -> Path:
    """The file that a row names, which must lie next to the data or below: no path from data leaves its folder."""
    if "\0" in path or Path(path).is_absolute() or not (folder / path).resolve().is_relative_to(folder.resolve()):
        raise DataError(
            f"a row names the image file {path!r}, which is outside the folder of the data; it is not read."
        )
    return folder / path


@dataclass(frozen=True, eq=False)
class EncodedImages:
    """Reads and decodes the images of a parquet column on demand."""

    shards: Shards
    column: str
    form: ImageForm

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        where_all = np.asarray(positions, dtype=np.int64)
        out = np.empty((where_all.size, *self.form.shape), dtype=np.uint8)
        for where, table in self.shards.pieces(where_all):
            for place, item in zip(where.tolist(), self.items(table), strict=True):
                out[place] = decode(item, self.form, partial(self.shards.named, int(where_all[place])))
        return out

    def items(self, table: pa.Table) -> list[bytes | Path]:
        """The encoded images of a table read from the file."""
        return encoded_items(table.column(self.column), Path(self.shards.files[0][0]).parent)

    def named_items(self) -> Iterator[tuple[Name, bytes | Path]]:
        """Yield every image with its name, in order."""
        position = 0
        for table in self.shards.stream():
            for item in self.items(table):
                yield partial(self.shards.named, position), item
                position += 1

    def content(self) -> Iterator[bytes]:
        """Yield the encoded bytes of every image, in order."""
        for name, item in self.named_items():
            try:
                yield item if isinstance(item, bytes) else item.read_bytes()
            except OSError as error:
                raise DataError(f"image {said(name)} cannot be read: {error}.") from None
