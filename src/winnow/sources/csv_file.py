"""CSV and TSV files, gzipped or not, with a header line; a directory of `train.csv`, `test.csv` has splits."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from . import tables
from .assembly import OpenRequest
from .frames import from_table
from .memory import Reloaded, stamp_of
from .splits import choose, split_named, without_splits

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENDINGS", "open_csv"]

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def open_csv(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a CSV file, or over one of the splits in a directory of them."""
    name, split, file = asked.named(path), None, path
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.name.lower().endswith(ENDINGS))
        by_split = {word: item for item in files if (word := split_named(item.name))}
        if len(by_split) != len(files):
            raise DataError(
                f"{path} holds {len(files)} CSV files ({', '.join(f.name for f in files[:4])}); open one "
                "of them, or name them train.csv and test.csv."
            )
        split = choose(by_split, asked.split, f"source {name!r}")
        file = by_split[split]
    else:
        without_splits(asked.split, f"source {name!r}")
    table = read_csv(file)
    where = str(file.resolve())
    stamps = ((where, stamp_of(where)),)

    def reader(features: tuple[str, ...], values: NDArray[np.float32]) -> Reloaded:
        return Reloaded(load_features, (where, features), stamps).primed(values)

    origin: dict[str, Any] = {"adapter": "csv", "path": str(file), "reader": reader}
    return from_table(table, None, asked, name, origin | ({"split": split} if split else {}))


def load_features(path: str, features: tuple[str, ...]) -> NDArray[np.float32]:
    """Read the features of a file that was opened before, possibly in another process."""
    return tables.matrix(read_csv(Path(path)), features, f"source {Path(path).name!r}")


def read_csv(path: Path) -> pa.Table:
    """Read the whole file as an arrow table."""
    import pyarrow as pa
    import pyarrow.csv as csv

    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            header = file.readline().decode("utf-8-sig")
            file.seek(0)
            table = csv.read_csv(file, parse_options=csv.ParseOptions(delimiter=_delimiter(path, header)))
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as CSV: {reason(error)}.") from None
    if table.column_names and all(map(_is_number, table.column_names)):
        raise DataError(f"{path} has no header: its first line is all numbers; put the column names there.")
    return table


def _delimiter(path: Path, header: str) -> str:
    """Tab in a TSV file; otherwise the most frequent of comma, semicolon and tab in the header."""
    if ".tsv" in path.name.lower():
        return "\t"
    return max(",;\t", key=header.count)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
