"""A folder of parquet files with the same columns: the rows of one artefact, some million after the other.

    FOLDER/00000.parquet, 00001.parquet ...     the rows, in the order of the names

Files that were made one by one, each from a part of the data, are read in the same way. Each file has the entries of
the artefact in its header; where those of the files differ, an entry that may be missing is left out, and provenance
names all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .files import atomic_folder
from .parquet_columns import read_columns, write_columns
from .serialiser import Unexpected, fields_of, optional

__all__ = ["read_parts", "write_parts"]


def write_parts(folder: Path, columns: Mapping[str, Any], about: Mapping[str, Any], rows: int, block: int = 0) -> None:
    """Write columns of equal length as files of so many rows, all of them or none.

    Parameters
    ----------
    folder
        The folder; it must be empty, or not exist.
    columns, about, block
        As for `write_columns`.
    rows
        Rows per file.

    Raises
    ------
    StoreError
        If the folder holds something, or cannot be written.
    """
    count = len(next(iter(columns.values())))
    with atomic_folder(folder) as place:
        for number, start in enumerate(range(0, max(count, 1), rows)):
            some = {name: values[start : start + rows] for name, values in columns.items()}
            write_columns(place / f"{number:05d}.parquet", some, about, block)


def read_parts(folder: Path, kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries and the columns of all files of a folder, as `read_columns` does.

    Parameters
    ----------
    folder
        The folder.
    kind
        The class of the artefact.
    """
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise Unexpected("a folder without parquet files")
    heads: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    for file in files:
        about, columns = read_columns(file, kind.saved_as)  # type: ignore[attr-defined]
        if tables and list(columns) != list(tables[0]):
            raise Unexpected(f"other columns in {file.name} than in {files[0].name}")
        heads.append(about)
        tables.append(columns)
    joined: dict[str, Any] = {}
    for name in list(tables[0]):
        parts = [columns.pop(name) for columns in tables]
        lists = isinstance(parts[0], list)
        joined[name] = [row for part in parts for row in part] if lists else np.concatenate(parts)
    return _agreed(heads, files, fields_of(kind)), joined


def _agreed(heads: list[dict[str, Any]], files: list[Path], hints: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of all files."""
    out = dict(heads[0])
    for head, file in zip(heads, files, strict=True):
        for name in {*heads[0], *head}:
            if head.get(name) == heads[0].get(name):
                continue
            if name == "provenance":
                out[name] = {"step": "parts", "inputs": [one[name] for one in heads]}
            elif name in hints and optional(hints[name]):
                out[name] = None
            else:
                raise Unexpected(f"another {name} in {file.name} than in {files[0].name}")
    return out
