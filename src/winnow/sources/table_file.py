"""Files that hold one table: CSV, TSV and JSONL, gzipped or not; a directory of `train.csv`, `test.csv` has splits.

CSV and TSV start with a header line. JSONL holds one object per line, whose keys are the columns.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from . import tables
from .assembly import OpenRequest
from .frames import from_table
from .memory import Reloaded, ReloadedCells, stamp_of
from .splits import choose, split_named, without_splits

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
    table = read_table(file)
    where = str(file.resolve())
    stamps = ((where, stamp_of(where)),)

    def reader(form: str, columns: tuple[str, ...], values: Any) -> Reloaded:
        made = ReloadedCells if form == "cells" else Reloaded
        return made(load_columns, (where, form, columns), stamps).primed(values)

    origin: dict[str, Any] = {"adapter": adapter, "path": str(file), "reader": reader}
    return from_table(table, None, asked, name, origin | ({"split": split} if split else {}))


def load_columns(path: str, form: str, columns: tuple[str, ...]) -> Any:
    """Read columns of a file that was opened before, possibly in another process: a `matrix`, `strings` or `cells`."""
    found = read_table(Path(path))
    if form == "cells":
        return found.select(columns)
    made: dict[str, Callable[..., NDArray[Any]]] = {"matrix": tables.matrix, "strings": tables.strings}
    return made[form](found, columns, f"source {Path(path).name!r}")


def read_table(path: Path) -> pa.Table:
    """Read the whole file as an arrow table."""
    return (read_jsonl if path.name.lower().endswith(JSONL) else read_csv)(path)


def read_csv(path: Path) -> pa.Table:
    """Read the whole file as an arrow table."""
    import pyarrow as pa
    import pyarrow.csv as csv

    tabs = ".tsv" in path.name.lower()
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            header = file.readline().decode("utf-8-sig")
            split = {"delimiter": delimiter_of(path, header), "newlines_in_values": not tabs}
            file.seek(0)
            try:
                table = csv.read_csv(file, parse_options=csv.ParseOptions(**split))
            except pa.ArrowInvalid:
                if not tabs:
                    raise
                file.seek(0)  # many TSV files do not quote: a quotation mark is part of the text there
                table = csv.read_csv(file, parse_options=csv.ParseOptions(**split, quote_char=False))
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as CSV: {reason(error)}.") from None
    if table.column_names and all(map(_is_number, table.column_names)):
        raise DataError(f"{path} has no header: its first line is all numbers; put the column names there.")
    return table


def delimiter_of(path: Path, header: str) -> str:
    """Return what separates the cells of a CSV or TSV file, by its name and first line."""
    return "\t" if ".tsv" in path.name.lower() else max(",;\t", key=header.count)


def read_jsonl(path: Path) -> pa.Table:
    """Read the whole file as an arrow table."""
    import pyarrow as pa
    import pyarrow.json as json

    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            return json.read_json(file, read_options=json.ReadOptions(block_size=LONGEST_LINE))
    except (pa.ArrowException, OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read as JSON lines: {reason(error)}.") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
