"""Parquet: a file, or a directory of shards whose names give the split (`train-00000-of-00002.parquet`).

Columns of numbers make a table; one column of encoded images (the HF hub's layout) makes images; a column of strings
makes text. Opening reads only footers, the label column and the id column: a million rows open in about a second. Text
is read once, because its lengths decide that of the rows, and so is a table that must be encoded. Numbers are checked
for missing values when they are read. A table under `HELD` bytes is kept in memory after the first read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from . import column_layout, tables
from .assembly import OpenRequest, Pieces, assemble
from .column_values import feature_names, vector_widths
from .encoded_images import EncodedImages, class_names_in, image_column
from .images import ImageForm, Name, first_form, readable
from .memory import Recent, Remembered, stamp_of
from .raw_table import raw_pieces
from .row_groups import Shards, opened, shards_of
from .seals import FileStamps
from .splits import split_files
from .texts import text_pieces

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENDINGS", "open_parquet", "open_shards"]

ENDINGS = (".parquet", ".pq")
HELD = 512 << 20  # bytes: a table smaller than this stays in memory once read
_whole = Recent(HELD)


def open_parquet(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a parquet file or a directory of shards."""
    name = asked.named(path)
    files, split = split_files(path, ENDINGS, asked.split, f"source {name!r}")
    return open_shards(str(path), files, split, name, asked)


def open_shards(path: str, files: list[str], split: str | None, name: str, asked: OpenRequest) -> Source:
    """Make a Source over the shards of a split; they may be URLs, and `path` is where they are."""
    owner = f"source {name!r}"
    schema = _schema(files, owner)
    shards = shards_of(files, schema.names)
    if len(shards) == 0:
        raise DataError(f"{owner} has no rows.")
    picture = image_column(schema, asked, owner)
    chosen = replace(asked, columns=None) if picture else asked
    layout = column_layout.lay_out(schema, chosen, owner)
    own_ids = None
    if layout.identity is not None:
        tables.unique_ids(_column(shards, layout.identity), layout, owner)
        own_ids = ColumnIds(shards, layout.identity)
    origin: dict[str, Any] = {"path": path, "labels": layout.targets, **({"split": split} if split else {})}
    found: dict[str, Any] = {
        "adapter": "parquet",
        "count": len(shards),
        "own_ids": own_ids,
        "origin": origin,
        "class_names": class_names_in(schema, layout.label),
        "ids_from": f"column {layout.identity}",
        "stamps": FileStamps(
            tuple((path, *stamp) for path, stamp in shards.files),
            (
                layout,
                asked.text,
                asked.columns,
                *(() if asked.fitted_encoding is None else (asked.fitted_encoding.digest,)),
            ),
        ),
        **tables.target_pieces(layout, partial(_column, shards), asked, owner),
        **tables.beside(layout, partial(_column, shards)),
    }
    spoken = () if picture else column_layout.text_columns(schema, layout, asked, owner)
    if spoken:
        origin["text"] = list(spoken)
        cells = TextCells(replace(shards, columns=spoken), owner)
        return assemble(asked, name, Pieces(**found, **text_pieces(cells, len(shards), owner, (shards.files, spoken))))
    if picture is None and column_layout.must_be_encoded(schema, layout, asked, shards.nulls):
        raw_cells = ShardCells(replace(shards, columns=layout.features))
        return assemble(
            asked,
            name,
            Pieces(**found, **raw_pieces(raw_cells, len(shards), layout.features, owner, asked.fitted_encoding)),
        )
    if picture is None:
        return _numbers(shards, schema, column_layout.numeric(schema, layout, owner), found, asked, name)
    ignored = [column for column in layout.features if column != picture]
    if ignored:
        origin["ignored_columns"] = ignored
    return _images(shards, picture, found, asked, name)


def _numbers(
    shards: Shards, schema: pa.Schema, features: tuple[str, ...], found: dict[str, Any], asked: OpenRequest, name: str
) -> Source:
    first = replace(shards, columns=features)
    widths = vector_widths(schema, features, lambda column: next(first.stream()).column(column))
    columns = feature_names(widths, features)
    reader = NumericRows(first, f"source {name!r}", tuple(widths.items()))
    return assemble(
        asked,
        name,
        Pieces(**found, read=reader, content=reader.content, shape=(len(columns),), kind="table", columns=columns),
    )


def _images(shards: Shards, column: str, found: dict[str, Any], asked: OpenRequest, name: str) -> Source:
    only = replace(shards, columns=(column,))
    probe = EncodedImages(only, column, ImageForm("RGB", 1, 1, resize=False))
    reader = replace(probe, form=first_form(_few_at_a_time(probe), f"source {name!r}", asked.size))
    source = assemble(
        asked,
        name,
        Pieces(
            **found,
            content=reader.content,
            kind="image",
            shape=reader.form.shape,
            read=Remembered(reader, len(shards), reader.form.shape, (shards.files, column, reader.form)),
        ),
    )
    if asked.unreadable == "refuse":
        return source
    good, skipped = readable(reader.named_items(), reader.form, len(shards), f"source {name!r}")
    if skipped is None:
        return source
    return replace(source.at(good), origin={**source.origin, "skipped": skipped})


def _few_at_a_time(images: EncodedImages) -> Iterator[tuple[Name, bytes | Path]]:
    """Yield the first images without reading their whole row group, then all of them."""
    for table in opened(*images.shards.files[int(images.shards.file_of[0])]).iter_batches(
        8, row_groups=[int(images.shards.index_of[0])], columns=[images.column], use_threads=False
    ):
        for row, item in enumerate(images.items(table)):
            yield images.shards.named(row), item
        break
    yield from images.named_items()


def _schema(files: list[str], owner: str) -> pa.Schema:
    """Return the columns, which must be the same in every file."""
    first = opened(files[0], stamp_of(files[0])).schema_arrow
    for path in files[1:]:
        other = opened(path, stamp_of(path)).schema_arrow
        if not other.equals(first):
            raise DataError(
                f"the files of {owner} must have the same columns; {Path(path).name} and {Path(files[0]).name} differ."
            )
    return first


def _column(shards: Shards, name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        parts = [opened(*file).read(columns=[name]).column(name) for file in shards.files]
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"column {name!r} of {shards.files[0][0]} cannot be read: {reason(error)}.") from None
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=parts[0].type)


@dataclass(frozen=True, eq=False)
class ColumnIds:
    """Reads the id column when called."""

    shards: Shards
    name: str

    def __call__(self) -> NDArray[Any]:
        """Return the ids, in order."""
        return tables.id_values(_column(self.shards, self.name))


@dataclass(frozen=True, eq=False)
class TextCells:
    """Reads one string per row, from one or two columns."""

    shards: Shards
    owner: str

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        asked = np.asarray(positions, dtype=np.int64)
        out = np.empty(asked.size, dtype=object)
        for where, table in self.shards.pieces(asked):
            out[where] = tables.strings(table, self.shards.columns, self.owner)
        return out


@dataclass(frozen=True, eq=False)
class ShardCells:
    """Reads raw cells."""

    shards: Shards

    def __call__(self, positions: NDArray[np.int64]) -> pa.Table:
        """Return the rows at these positions."""
        import pyarrow as pa

        asked = np.asarray(positions, dtype=np.int64)
        pieces = list(self.shards.pieces(asked))
        if not pieces:
            return next(self.shards.stream()).slice(0, 0)
        order = np.argsort(np.concatenate([where for where, _ in pieces]), kind="stable")
        return pa.concat_tables([table for _, table in pieces]).combine_chunks().take(order)


@dataclass(frozen=True, eq=False)
class NumericRows:
    """Reads rows of numbers; a small table is kept in memory after the first read."""

    shards: Shards
    owner: str
    widths: tuple[tuple[str, int], ...] = ()  # of columns that hold vectors

    @property
    def width(self) -> int:
        """The number of numbers per row."""
        return len(self.shards.columns) + sum(width - 1 for _, width in self.widths)

    def _matrix(self, table: pa.Table) -> NDArray[np.float32]:
        return tables.matrix(table, self.shards.columns, self.owner, dict(self.widths))

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        asked = np.asarray(positions, dtype=np.int64)
        width = self.width
        if len(self.shards) * width * 4 < HELD:
            whole = _whole.get((self.shards.files, self.shards.columns), self._everything)
            return np.asarray(whole[asked])
        out = np.empty((asked.size, width), dtype=np.float32)
        for where, table in self.shards.pieces(asked):
            out[where] = self._matrix(table)
        return out

    def _everything(self) -> NDArray[np.float32]:
        out = np.empty((len(self.shards), self.width), dtype=np.float32)
        start = 0
        for table in self.shards.stream():
            out[start : start + table.num_rows] = self._matrix(table)
            start += table.num_rows
        return out

    def content(self) -> Iterator[bytes]:
        """Yield the float32 bytes of every row, in order."""
        for table in self.shards.stream():
            for row in self._matrix(table):
                yield row.tobytes()
