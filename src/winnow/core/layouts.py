"""Layouts of saved artefacts: JSON, parquet, safetensors, and folders of these.

| layout | files |
|---|---|
| `Json` | one JSON file with every field |
| `Parquet` | one parquet file, or a folder of them: arrays as columns, the other fields as JSON in the metadata |
| `Tensors` | one safetensors file: arrays as tensors, the other fields as JSON in the header |
| `Folder` | a JSON file, tables of rows, and subfolders with artefacts that are part of it |

`parquet_columns` reads and writes the parquet files themselves; tables of rows are such files too.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, repeat, takewhile
from pathlib import Path
from typing import Any, get_args

import numpy as np

from .files import atomic, file_name, plain, write_json
from .parquet_columns import parquet_header, read_columns, write_columns
from .parquet_parts import read_parts, write_parts
from .serialiser import Saved, entries, expecting, fields_of, filled, optional

__all__ = ["SHARD", "Folder", "Json", "Parquet", "Tensors", "parquet_header", "read_columns", "write_columns"]

SHARD = 1 << 20  # rows per file of what is saved to a folder
COSTS = "costs.json"  # durations of an artefact that is a folder


@dataclass(frozen=True)
class Json:
    """One JSON file.

    Parameters
    ----------
    file
        Name of the file, if `save` is given a folder; `load` then takes the folder or the file.
    indent
        Spaces per level; None writes one line.
    """

    file: str = ""
    indent: int | None = 1

    def place(self, path: Path) -> Path:
        """The file itself."""
        return path / self.file if self.file and path.is_dir() else path

    def write(self, made: Saved, path: Path) -> Path:
        """Write every field."""
        target = path / self.file if self.file else path
        write_json(target, entries(made), self.indent)
        return target

    def read(self, kind: type[Saved], path: Path) -> dict[str, Any]:
        """Every field."""
        return filled(kind, json.loads(self.place(path).read_text()))


@dataclass(frozen=True)
class Parquet:
    """One parquet file.

    Parameters
    ----------
    columns
        The field of each column. A field that is None has no column. A matrix is one column of lists or, if the name
        ends in `*`, several columns numbered from 0.
    block
        Rows written at a time, uncompressed and with lists of a fixed length, for large matrices that do not compress;
        0 writes all rows at once.
    derived
        Properties that are also written as entries, for other programs.
    dtypes
        Fields whose kind of number is also written as an entry, under the name of the field.
    spared
        Fields that are written only if they differ from their default, so that files from before there was such a
        field can be read, and are still written byte by byte.
    part
        The field with another artefact of this layout about the same rows, or None: its columns are written beside the
        others and its entries under the name of the field.
    shard
        Rows per file if `save` is given a folder, as `parquet_parts` says; 0 if it must be a file.
    """

    columns: Mapping[str, str]
    block: int = 0
    derived: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    part: str = ""
    shard: int = 0

    def place(self, path: Path) -> Path:
        """The file itself."""
        return path

    def write(self, made: Saved, path: Path) -> Path:
        """Write every field."""
        columns, about = self._columns_of(made), self._entries_of(made)
        part = getattr(made, self.part) if self.part else None
        if part is not None:
            columns = part.layout._columns_of(part) | columns
            about[self.part] = part.layout._entries_of(part)
        if self.shard and _is_folder(path):
            write_parts(path, columns, about, self.shard, self.block)
        else:
            write_columns(path, columns, about, self.block)
        return path

    def _columns_of(self, made: Saved) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for name, of in self.columns.items():
            values = getattr(made, of)
            if values is None:
                continue
            if name.endswith("*"):
                columns |= {f"{name[:-1]}{k}": values[:, k] for k in range(values.shape[1])}
            else:
                columns[name] = values
        return columns

    def _entries_of(self, made: Saved) -> dict[str, Any]:
        usual = {one.name: one.default for one in dataclasses.fields(made) if one.name in self.spared}  # type: ignore[arg-type]
        spared = [name for name, value in usual.items() if getattr(made, name) == value]
        about = entries(made, (*self.columns.values(), *spared, self.part))
        about |= {name: plain(getattr(made, name)) for name in self.derived}
        return about | {name: getattr(made, name).dtype.kind for name in self.dtypes}

    def read(self, kind: type[Saved], path: Path) -> dict[str, Any]:
        """Every field."""
        parts = self.shard and _is_folder(path)
        about, columns = read_parts(path, kind) if parts else read_columns(path, kind.saved_as)
        return self._fields_of(kind, about, columns)

    def _fields_of(self, kind: type[Saved], about: Any, columns: dict[str, Any]) -> dict[str, Any]:
        held = about if isinstance(about, dict) else {}  # `filled` below refuses anything else
        spared = [name for name in self.spared if name not in held]
        elsewhere = (*self.columns.values(), *spared, self.part)
        out = filled(kind, about, elsewhere, (*self.derived, *self.dtypes, self.part))
        for name, of in self.columns.items():
            if name.endswith("*"):
                numbered = list(takewhile(columns.__contains__, (f"{name[:-1]}{k}" for k in count())))
                if numbered or not optional(fields_of(kind)[of]):
                    out[of] = np.stack([columns[one] for one in numbered], axis=1)
            elif name in columns:
                out[of] = np.array(columns[name]) if isinstance(columns[name], list) else columns[name]
        if self.part in about:
            inner = get_args(fields_of(kind)[self.part])[0]
            out[self.part] = inner(**inner.layout._fields_of(inner, about[self.part], columns))
        return out


def _is_folder(path: Path) -> bool:
    """Whether it is one; what cannot be looked at is none, and opening it says why."""
    try:
        return path.is_dir()
    except OSError:
        return False


@dataclass(frozen=True)
class Tensors:
    """One safetensors file.

    Parameters
    ----------
    arrays
        Fields that are one tensor each; missing if None.
    ids
        The field with ids: a tensor of whole numbers, or of text as bytes with a newline between ids; the entry with
        that name says which.
    group
        The field that maps names to all other tensors.
    torch
        Whether they are torch tensors instead of arrays.
    header
        The name of the entries in the header of the file; empty if there are none.
    whole
        The field that is the whole header, without a kind.
    """

    arrays: tuple[str, ...] = ()
    ids: str = ""
    group: str = ""
    torch: bool = False
    header: str = "about"
    whole: str = ""

    def place(self, path: Path) -> Path:
        """The file itself."""
        return path

    @property
    def _inside(self) -> tuple[str, ...]:
        """Fields that are not entries."""
        return (*self.arrays, *filter(None, (self.ids, self.group)))

    def _library(self) -> Any:
        if self.torch:
            import safetensors.torch

            return safetensors.torch
        import safetensors.numpy

        return safetensors.numpy

    def write(self, made: Saved, path: Path) -> Path:
        """Write every field."""
        tensors = dict(getattr(made, self.group)) if self.group else {}
        tensors |= {name: getattr(made, name) for name in self.arrays if getattr(made, name) is not None}
        about = plain(getattr(made, self.whole)) if self.whole else entries(made, self._inside)
        if self.ids:
            ids = getattr(made, self.ids)
            about[self.ids] = ids.dtype.kind
            text = ids.dtype.kind != "i"
            tensors[self.ids] = np.frombuffer("\n".join(ids.tolist()).encode(), dtype=np.uint8) if text else ids
        if not self.torch:
            tensors = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
        header = {self.header: json.dumps(about, sort_keys=True)} if self.header else None
        with atomic(path) as part:
            self._library().save_file(tensors, part, header)
        return path

    def read(self, kind: type[Saved], path: Path) -> dict[str, Any]:
        """Every field."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), framework="pt" if self.torch else "numpy") as file:
                about = json.loads((file.metadata() or {})[self.header]) if self.header else {"winnow": kind.saved_as}
                tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        except SafetensorError as error:
            raise ValueError(*error.args) from None
        out = {self.whole: about} if self.whole else filled(kind, about, self._inside, (self.ids,))
        if self.ids:
            ids = tensors.pop(self.ids)
            out[self.ids] = ids if about[self.ids] == "i" else np.array(ids.tobytes().decode().split("\n"))
        out |= {name: tensors.pop(name) for name in self.arrays if name in tensors}
        return out | ({self.group: tensors} if self.group else {})


@dataclass(frozen=True)
class Folder:
    """A folder with a JSON file that is written last: without it, the artefact is unfinished.

    Parameters
    ----------
    file
        The JSON file.
    tables
        The parquet file of each field that is a tuple of dataclasses (rows); the stem of the file name is its kind.
    parts
        The field that maps names to artefacts. Each has its own folder, named in the entry `folders`.
    order
        The property with the names of the parts in order, because sorted JSON does not keep it.
    derived
        Methods whose results are also written as entries, for other programs.
    timed
        For fields that are tuples of dataclasses, which of their fields holds a duration: these are in a file of their
        own (`COSTS`), so that the same content gives the same bytes everywhere else.
    """

    file: str
    tables: Mapping[str, str] = field(default_factory=dict)
    parts: str = ""
    order: str = ""
    derived: tuple[str, ...] = ()
    timed: Mapping[str, str] = field(default_factory=dict)

    def place(self, path: Path) -> Path:
        """The JSON file."""
        return path / self.file

    def write(self, made: Saved, path: Path) -> Path:
        """Write every field."""
        with suppress(NotADirectoryError):  # the first write below says so in a sentence
            self.place(path).unlink(missing_ok=True)
        about = entries(made, {*self.tables, self.parts})
        for name, of in self.timed.items():
            for row in about.get(name, ()):
                del row[of]
        for name, table in self.tables.items():
            rows, columns = getattr(made, name), fields_of(_row(made, name))
            values = {c: [getattr(row, c) for row in rows] for c in columns if c != self.timed.get(name)}
            write_columns(path / table, values, {"winnow": Path(table).stem})
        if self.timed:
            costs = {name: plain([getattr(row, of) for row in getattr(made, name)]) for name, of in self.timed.items()}
            write_json(path / COSTS, costs)
        if self.parts:
            parts: Mapping[str, Saved] = getattr(made, self.parts)
            about |= {self.order: list(parts), "folders": {name: f"{self.parts}/{file_name(name)}" for name in parts}}
            for name, part in parts.items():
                part.save(path / about["folders"][name])
        about |= {name: plain(getattr(made, name)()) for name in self.derived}
        write_json(self.place(path), about)
        return path

    def read(self, kind: type[Saved], path: Path) -> dict[str, Any]:
        """Every field."""
        about = json.loads(self.place(path).read_text())
        costs = self._costs(path)
        for name, of in self.timed.items():
            for row, cost in zip(about.get(name, ()), costs.get(name, repeat({})), strict=False):
                row.setdefault(of, cost)
        out = filled(kind, about, {*self.tables, self.parts}, {self.order, "folders", *self.derived})
        for name, table in self.tables.items():
            row = _row(kind, name)
            with expecting(Path(table).stem, path / table):
                columns = read_columns(path / table, Path(table).stem)[1]
                lists = [values if isinstance(values, list) else values.tolist() for values in columns.values()]
                rows = [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]
                if name in self.timed:
                    spent = costs.get(name, [None] * len(rows))
                    rows = [{self.timed[name]: cost, **one} for one, cost in zip(rows, spent, strict=True)]
                out[name] = tuple(row(**filled(row, one)) for one in rows)
        if self.parts:
            part = get_args(fields_of(kind)[self.parts])[1]
            out[self.parts] = {name: part.load(path / about["folders"][name]) for name in about[self.order]}
        return out

    def _costs(self, path: Path) -> dict[str, Any]:
        """The durations; nothing if the folder was written without them, or they were left out of a copy."""
        file = path / COSTS
        return dict(json.loads(file.read_text())) if self.timed and file.is_file() else {}


def _row(kind: Any, name: str) -> type[Any]:
    """Return the dataclass of the rows in a field of type `tuple[Row, ...]`."""
    found: type[Any] = get_args(fields_of(kind if isinstance(kind, type) else type(kind))[name])[0]
    return found
