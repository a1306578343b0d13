"""Files that hold one table: CSV, TSV and JSONL, gzipped or not; a directory of `train.csv`, `test.csv` has splits.

CSV and TSV start with a header line. JSONL holds one object per line, whose keys are the columns. Files are UTF-8, or
of the encoding that is declared.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from . import tables
from .assembly import OpenRequest
from .column_layout import lay_out
from .file_encoding import ORIGIN, is_utf8, not_utf8, recoded
from .frames import from_table
from .memory import Reloaded, ReloadedCells, stamp_of
from .packed_texts import ReloadedTexts, packed_texts
from .splits import choose, shards_of_split, split_named, without_splits

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CSV", "JSONL", "delimiter_of", "open_csv", "open_jsonl", "read_table"]

CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
JSONL = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
LONGEST_LINE = 16 << 20  # bytes of a line of JSON; arrow's own limit of a megabyte is less than some documents


def open_csv(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a CSV file, or over one of the splits in a directory of them."""
    return _open(path, asked, "csv", CSV)


def open_jsonl(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a JSONL file, or over one of the splits in a directory of them."""
    return _open(path, asked, "jsonl", JSONL)


def _open(path: Path, asked: OpenRequest, adapter: str, endings: tuple[str, ...]) -> Source:
    name, split, file = asked.named(path), None, path
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.name.lower().endswith(endings))
        if adapter == "jsonl" and len(files) > 1:
            return _open_shards(path, files, asked, name)
        by_split = {word: item for item in files if (word := split_named(item.name))}
        if len(by_split) != len(files):
            raise DataError(
                f"{path} holds {len(files)} {adapter.upper()} files ({', '.join(f.name for f in files[:4])}); open one "
                f"of them, or name them train.{adapter} and test.{adapter}."
            )
        split = choose(by_split, asked.split, f"source {name!r}")
        file = by_split[split]
    else:
        without_splits(asked.split, f"source {name!r}")
    table = read_table(file, asked.encoding)
    if adapter == "csv":
        table = _with_whole_ids(table, file, asked, f"source {name!r}")
    origin = {"adapter": adapter, "path": str(file)} | ({"split": split} if split else {})
    return _source(table, [str(file.resolve())], asked, name, origin)


def _with_whole_ids(table: pa.Table, file: Path, asked: OpenRequest, owner: str) -> pa.Table:
    """The table with ids as text if they are whole numbers beyond 64 bits, which floats would round together."""
    import pyarrow as pa
    import pyarrow.compute as compute

    identity = lay_out(table.schema, asked, owner).identity
    if identity is None or not pa.types.is_floating(table.schema.field(identity).type):
        return table
    written = read_csv(file, asked.encoding, {identity: pa.string()}).column(identity)
    if not compute.all(compute.match_substring_regex(written, r"^[+-]?[0-9]+$")).as_py():
        return table
    return table.set_column(table.column_names.index(identity), identity, written)


def _source(table: pa.Table, files: list[str], asked: OpenRequest, name: str, origin: dict[str, Any]) -> Source:
    """Make a Source of a table that can be read from its files again."""
    stamps = tuple((file, stamp_of(file)) for file in files)
    where = "\n".join(files)

    def reader(form: str, columns: tuple[str, ...], values: Any) -> Reloaded:
        made = {"cells": ReloadedCells, "strings": ReloadedTexts}.get(form, Reloaded)
        return made(load_columns, (where, form, columns, asked.encoding), stamps).primed(values)

    declared = {} if asked.encoding is None else {ORIGIN: asked.encoding}
    return from_table(table, None, asked, name, {**origin, "reader": reader, **declared})


def _open_shards(path: Path, files: list[Path], asked: OpenRequest, name: str) -> Source:
    """Make a Source over several JSONL files that are one table, or over one split of them."""
    import pyarrow as pa

    chosen, split = shards_of_split({file.name: str(file.resolve()) for file in files}, asked.split, f"source {name!r}")
    try:
        table = _joined(chosen, asked.encoding)
    except pa.ArrowException as error:
        raise DataError(f"the JSONL files of {path} do not have the same columns: {reason(error)}.") from None
    return _source(
        table, list(chosen), asked, name, {"adapter": "jsonl", "path": str(path)} | ({"split": split} if split else {})
    )


def _joined(files: Sequence[str], encoding: str | None) -> pa.Table:
    """Read files as one table."""
    import pyarrow as pa

    parts = [read_table(Path(file), encoding) for file in files]
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="default")


def load_columns(path: str, form: str, columns: tuple[str, ...], encoding: str | None = None) -> Any:
    """Read columns of files (one path per line) opened before, perhaps in another process.

    The form is `matrix`, `strings` or `cells`.
    """
    found = _joined(path.split("\n"), encoding)
    if form == "cells":
        return found.select(columns)
    made: dict[str, Callable[..., Any]] = {"matrix": tables.matrix, "strings": packed_texts}
    return made[form](found, columns, f"source {Path(path).name!r}")


def read_table(path: Path, encoding: str | None = None) -> pa.Table:
    """Read the whole file as an arrow table."""
    try:
        return (read_jsonl if path.name.lower().endswith(JSONL) else read_csv)(path, encoding)
    except UnicodeError as error:
        said = not_utf8() if encoding is None else f"is not {encoding}: {reason(error)}"
        raise DataError(f"{path} {said}.") from None


def _bytes(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", (gzip.open if path.suffix == ".gz" else open)(path, "rb"))


def read_csv(path: Path, encoding: str | None = None, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """Read the whole file as an arrow table; the types of columns are inferred unless they are given."""
    import pyarrow as pa
    import pyarrow.csv as csv

    tabs = ".tsv" in path.name.lower()
    try:
        with _bytes(path) as raw, recoded(raw, encoding) as file:
            header = file.readline()
            if not is_utf8(io.BytesIO(header)):
                raise DataError(f"{path} {not_utf8()}; its first line is not.")
        split = {"delimiter": delimiter_of(path, header.decode("utf-8-sig")), "newlines_in_values": not tabs}
        convert = csv.ConvertOptions(column_types=types)
        try:
            with _stream(path, encoding) as stream:
                table = csv.read_csv(stream, parse_options=csv.ParseOptions(**split), convert_options=convert)
        except pa.ArrowInvalid:
            if not tabs:
                raise
            with _stream(path, encoding) as stream:  # many TSV files do not quote: a quotation mark is part of the text
                plain = csv.ParseOptions(**split, quote_char=False)
                table = csv.read_csv(stream, parse_options=plain, convert_options=convert)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read as CSV: {reason(error)}.") from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            raise DataError(f"{path} {not_utf8()}; the first such column is {name!r}.")
    if table.column_names and all(map(_is_number, table.column_names)):
        raise DataError(f"{path} has no header: its first line is all numbers; put the column names there.")
    return table


def _stream(path: Path, encoding: str | None) -> pa.NativeFile:
    """Open the file, in UTF-8, by arrow itself.

    A thread of arrow that lets go of a file of Python while Python ends would abort the process.
    """
    import pyarrow as pa

    with _bytes(path) as raw:
        if (file := recoded(raw, encoding)) is not raw:
            return pa.BufferReader(file.read())
    plain = pa.OSFile(str(path))
    return pa.CompressedInputStream(plain, "gzip") if path.suffix == ".gz" else plain


def delimiter_of(path: Path, header: str) -> str:
    """Return what separates the cells of a CSV or TSV file, by its name and first line."""
    return "\t" if ".tsv" in path.name.lower() else max(",;\t", key=header.count)


def read_jsonl(path: Path, encoding: str | None = None) -> pa.Table:
    """Read the whole file as an arrow table."""
    import pyarrow as pa
    import pyarrow.json as json

    try:
        with _stream(path, encoding) as stream:
            table = json.read_json(stream, read_options=json.ReadOptions(block_size=LONGEST_LINE))
            table.validate(full=True)  # arrow takes any bytes for text
            return table
    except (pa.ArrowException, OSError, EOFError) as error:
        if isinstance(error, pa.ArrowException) and encoding is None:
            with _bytes(path) as raw:
                if not is_utf8(raw):
                    raise DataError(f"{path} {not_utf8()}.") from None
        raise DataError(f"{path} cannot be read as JSON lines: {reason(error)}.") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
