"""Kept rows as tables: CSV and TSV, JSON lines, parquet, HF datasets and frames, with every column they had.

Rows of a CSV or JSONL file are copied as text, so that nothing is lost by reading and writing numbers or dates. Rows
of a parquet file keep its schema and are copied a few thousand at a time. From one format to another, they pass through
arrow.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError, InputError, reason
from . import hf
from .column_layout import OWN
from .file_encoding import ORIGIN
from .frames import is_frame, to_arrow
from .kept_rows import KeptRows
from .parquet import ENDINGS as PARQUET
from .row_groups import opened, shards_of
from .splits import split_files
from .table_file import delimiter_of, read_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["framed", "write_csv", "write_hf", "write_jsonl", "write_parquet"]

BLOCK = 8192  # rows of a parquet file written at a time


def write_csv(kept: KeptRows, path: Path, delimiter: str, zipped: bool) -> None:
    """Write rows as CSV or TSV; those of a CSV file as they are, cell by cell."""
    if kept.adapter != "csv":
        _write_arrow_csv(kept, path, delimiter, zipped)
        return
    header, records, quoting, own = _records(kept)
    delimiter = own if delimiter == "," and own != "\t" else delimiter
    extra = kept.columns.flat
    old = [place for place, name in enumerate(header) if not name.startswith(OWN)]
    with _text(path, zipped) as file:
        quote: Any = quoting if delimiter == "\t" else csv.QUOTE_MINIMAL
        out = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=quote, quotechar='"')
        out.writerow([*(header[place] for place in old), *extra])
        for record, *more in zip(records, *extra.values(), strict=True):
            out.writerow([*(record[place] for place in old), *more])


def _records(kept: KeptRows) -> tuple[list[str], list[list[str]], Any, str]:
    """Return the header, the kept records, the quoting and the delimiter of a CSV file."""
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):  # many TSV files do not quote
        with _opened(kept, newline="") as file:
            first = file.readline()
            file.seek(0)
            delimiter = delimiter_of(kept.path, first)
            rows = csv.reader(file, delimiter=delimiter, quoting=quoting)
            try:
                header, *records = (row for row in rows if row)
            except csv.Error as error:
                raise DataError(f"{kept.path} cannot be read as CSV: {reason(error)}.") from None
        if len(records) == len(kept.source):
            return header, [records[place] for place in kept.where], quoting, delimiter
    raise DataError(f"{kept.path} has {len(records)} records, and {len(kept.source)} were opened; write parquet.")


def _write_arrow_csv(kept: KeptRows, path: Path, delimiter: str, zipped: bool) -> None:
    import pyarrow as pa
    import pyarrow.csv

    table = kept.columns.added(arrow_rows(kept, path), flat=True)
    try:
        with _binary(path, zipped) as file:
            pa.csv.write_csv(table, file, pa.csv.WriteOptions(delimiter=delimiter))
    except pa.ArrowException:
        lists = [field.name for field in table.schema if pa.types.is_nested(field.type)]
        which = f"column {lists[0]!r}" if lists else "some"
        raise InputError(
            f"path of Subset.export must end in .jsonl or .parquet, because cells of {which} are not single values and "
            "do not fit into a CSV file."
        ) from None


def write_jsonl(kept: KeptRows, path: Path, zipped: bool) -> None:
    """Write one JSON object per line; the lines of a JSONL file as they are."""
    extra = kept.columns.rows() if kept.columns else ({} for _ in kept.where)
    with _text(path, zipped) as file:
        if kept.adapter == "jsonl":
            with _opened(kept) as given:
                wanted = set(kept.where.tolist())
                lines = (line for line in given if line.strip())
                kept_lines = (line for place, line in enumerate(lines) if place in wanted)
                file.writelines(_extended(line, more) for line, more in zip(kept_lines, extra, strict=True))
            return
        for row in kept.columns.added(arrow_rows(kept, path)).to_pylist():
            try:
                file.write(json.dumps(row, ensure_ascii=False, default=_iso) + "\n")
            except TypeError as error:
                raise InputError(
                    f"path of Subset.export must end in .parquet for cells that JSON does not have; got "
                    f"{path.suffix} ({reason(error)})."
                ) from None


def _extended(line: str, more: dict[str, Any]) -> str:
    """A line of JSON with more entries; the rest stays as it is written."""
    text = line.strip()
    if not more:
        return text + "\n"
    if OWN in text:  # an earlier export may have written the same entries
        text = json.dumps({k: v for k, v in json.loads(text).items() if not k.startswith(OWN)}, ensure_ascii=False)
    body = text[:-1].rstrip()
    return f"{body}{'' if body.endswith('{') else ', '}{json.dumps(more)[1:-1]}}}\n"


def _iso(value: Any) -> str:
    """Dates and times as text; anything else has no JSON."""
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"{type(value).__name__} has no JSON")


def write_parquet(kept: KeptRows, path: Path) -> None:
    """Write a parquet file with the schema of the rows, a few thousand rows at a time."""
    import pyarrow.parquet as pq

    writer = None
    try:
        start = 0
        for table in _blocks(kept, path):
            table = kept.columns.added(table, start=start)
            start += table.num_rows
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def write_hf(kept: KeptRows, path: Path) -> None:
    """Write a folder that `datasets.load_from_disk` reads."""
    rows = _dataset_rows(kept) if kept.adapter == "hf" else arrow_rows(kept, path)
    hf.save_rows(rows, kept.columns.lists, path)


def _dataset_rows(kept: KeptRows) -> Any:
    given = hf.load_saved(Path(kept.what)) if isinstance(kept.what, str | Path) else kept.what
    return hf.rows_at(given, kept.source.origin.get("split"), kept.where)


def framed(kept: KeptRows) -> Any:
    """The kept rows of a frame in memory, as a frame of the same kind."""
    frame, extra = kept.what, kept.columns.lists
    if kept.adapter == "hf":
        rows = _dataset_rows(kept)
        for name, values in extra.items():
            rows = rows.add_column(name, values)
        return rows
    if not is_frame(frame):
        raise InputError(
            "path of Subset.export must be given, except for frames and HF datasets in memory; got None for "
            f"{type(frame).__name__}."
        )
    if hasattr(frame, "iloc"):
        return frame.iloc[kept.where].assign(**extra)
    if hasattr(frame, "collect"):  # a lazy polars frame
        frame = frame.collect()
    if hasattr(frame, "hstack"):
        part = frame[kept.where]
        return part.hstack(type(part)(extra)) if extra else part
    return kept.columns.added(frame.take(kept.where))


def arrow_rows(kept: KeptRows, path: Path) -> pa.Table:
    """The kept rows as one arrow table, with every column they had; `path` is where they go, for messages."""
    import pyarrow as pa

    return pa.concat_tables(_blocks(kept, path))


def _blocks(kept: KeptRows, path: Path) -> Iterator[pa.Table]:
    """Yield the kept rows as arrow tables."""
    if kept.adapter == "parquet":
        yield from _parquet_blocks(kept)
    elif kept.adapter in ("csv", "jsonl"):
        yield read_table(kept.path, kept.source.origin.get(ORIGIN)).take(kept.where)
    elif kept.adapter == "hf":
        yield hf.arrow_rows(_dataset_rows(kept))
    elif is_frame(kept.what):
        yield to_arrow(kept.what, f"source {kept.source.name!r}").take(kept.where)
    else:
        yield _from_source(kept, path)


def _parquet_blocks(kept: KeptRows) -> Iterator[pa.Table]:
    origin = kept.source.origin
    files, _ = split_files(kept.path, PARQUET, origin.get("split"), f"source {kept.source.name!r}")
    shards = shards_of(files, opened(*shards_of(files, ()).files[0]).schema_arrow.names)
    for start in range(0, kept.where.size, BLOCK):
        some = kept.where[start : start + BLOCK]
        for _, table in shards.pieces(some):  # ascending, as the positions are
            yield table


def _from_source(kept: KeptRows, path: Path) -> pa.Table:
    """The kept rows of data that are no table: numbers by column, or texts, with their labels."""
    import pyarrow as pa

    source = kept.source
    if source.kind not in ("table", "text"):
        raise InputError(
            f"path of Subset.export must end in .npz, or be a folder, for {source.kind}s in memory; got a table."
        )
    columns: dict[str, Any] = {"id": kept.ids.tolist()}
    if source.kind == "text":
        columns["text"] = source.texts(kept.ids)
    else:
        rows = source.read(kept.where)
        names = source.columns or tuple(f"x{number}" for number in range(rows.shape[1]))
        columns |= {name: np.ascontiguousarray(rows[:, place]) for place, name in enumerate(names)}
    if kept.labels is not None:
        columns["label"] = list(kept.labels) if kept.labels.ndim > 1 else kept.labels
    return pa.table(columns)


@contextmanager
def _binary(path: Path, zipped: bool) -> Iterator[IO[bytes]]:
    """A file to write bytes to; the same content gives the same bytes, zipped or not."""
    with path.open("wb") as raw:
        if not zipped:
            yield raw
            return
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
            yield packed  # type: ignore[misc]


@contextmanager
def _text(path: Path, zipped: bool) -> Iterator[IO[str]]:
    with _binary(path, zipped) as raw, TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def _opened(kept: KeptRows, newline: str | None = None) -> Iterator[IO[str]]:
    """The text file of the data, zipped or not."""
    encoding = kept.source.origin.get(ORIGIN) or "utf-8-sig"
    opener: Any = gzip.open if kept.path.suffix == ".gz" else open
    with opener(kept.path, "rt", encoding=encoding, newline=newline) as file:
        yield file
