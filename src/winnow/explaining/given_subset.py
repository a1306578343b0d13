"""A subset as anyone's tool writes it: ids or positions in a list, a table or a file, with weights if it has any.

Everything is read into columns first. The column with a usual name decides (`id`, `index`, `filename` ...); otherwise
the first column whose values are all ids of the data, or whole numbers that can be positions.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts import Source, Subset
from ..core.errors import DataError, InputError, NotFoundError, WinnowError, reason
from ..sources.npz import UNREADABLE

__all__ = ["given_subset"]

OWNER = "audit"
ID = (
    "id", "ids", "key", "example", "example_id", "index", "indices", "idx", "position", "positions", "filename", "path",
)  # fmt: skip
WEIGHT = ("weight", "weights", "sample_weight")

Columns = dict[str, list[Any]]


def given_subset(what: Any, source: Source) -> tuple[Subset, str]:
    """Return the subset with ids of the source, and where it came from.

    Values that are ids of the source are ids. If not all are, and all are whole numbers below the number of examples,
    they are positions in the order of the data. True and False, one per example, mark the kept ones.

    Parameters
    ----------
    what
        A Subset; ids or positions; a mapping or data frame of columns; or a file: a winnow subset, parquet, CSV, TSV,
        JSON, text or .npy.
    source
        The data.
    """
    if isinstance(what, Subset):
        source.positions(what.ids)  # complains about ids that it does not have
        return what, "subset"
    if isinstance(what, str | Path):
        path = Path(what)
        if not path.exists():
            raise NotFoundError(f"subset of {OWNER} does not exist: {path}.")
        name, readings = path.name, _read(path)
    else:
        name, readings = "subset", [_columns(what)]
    if not any(values for columns in readings for values in columns.values()):
        raise InputError(f"subset of {OWNER} must have at least one example; {name} has none.")
    where, columns = _positions(readings, source, name)
    if np.unique(where).size < where.size:
        raise InputError(f"subset of {OWNER} must name each example once; {name} repeats some.")
    return Subset(source.ids[where], weights=_weights(columns, where.size, name)), name


def _positions(readings: list[Columns], source: Source, name: str) -> tuple[NDArray[np.int64], Columns]:
    """Positions of the examples, and the columns that they were found in."""
    place = {str(id): number for number, id in enumerate(source.ids.tolist())}
    for look in (_by_id, _by_position):  # ids in any column come before numbers, which may be anything
        for columns in readings:
            for values in _candidates(columns):
                found = look(values, place) if values else None
                if found is not None:
                    return found, columns
    columns = readings[-1]
    values = next(_candidates(columns))
    known = [_key(value, place) in place for value in values]
    raise InputError(
        f"subset of {OWNER} must hold ids of the data, or positions from 0 to {len(source) - 1}: {known.count(False)} "
        f"of {len(values)} in {name} are no ids, such as {str(values[known.index(False)])!r:.60}; ids look like "
        f"{str(source.ids[0])!r}."
    )


def _candidates(columns: Columns) -> Iterator[list[Any]]:
    """Columns that may hold the ids: the one with a usual name, or else all, in order."""
    lower = {key.strip().lower(): key for key in columns}
    usual = next((lower[word] for word in ID if word in lower), None)
    yield from ([columns[usual]] if usual is not None else columns.values())


def _by_id(values: list[Any], place: Mapping[str, int]) -> NDArray[np.int64] | None:
    """Positions of ids; None if not all values are."""
    keys = [_key(value, place) for value in values]
    return np.array([place[key] for key in keys], dtype=np.int64) if all(key in place for key in keys) else None


def _by_position(values: list[Any], place: Mapping[str, int]) -> NDArray[np.int64] | None:
    """Positions as they are, or those that are marked by True; None if the values are neither."""
    if len(values) == len(place) and all(isinstance(value, bool) for value in values):
        return np.flatnonzero(values) if any(values) else None
    keys = [_key(value, place) for value in values]
    if not all(key.isdecimal() and len(key) < 19 for key in keys):
        return None
    numbers = np.array([int(key) for key in keys], dtype=np.int64)
    return numbers if numbers.max() < len(place) else None


def _key(value: Any, place: Mapping[str, int]) -> str:
    """The value as ids are written; whole numbers that were stored as floats lose their point."""
    text = str(value).strip()
    whole = re.fullmatch(r"(\d+)\.0*", text)
    return whole[1] if whole and text not in place else text


def _weights(columns: Columns, size: int, name: str) -> NDArray[np.float64]:
    lower = {key.strip().lower(): key for key in columns}
    found = next((columns[lower[word]] for word in WEIGHT if word in lower), None)
    if found is None:
        return np.ones(size)
    try:
        weights = np.array([float(value) for value in found])
    except (TypeError, ValueError):
        weights = np.array([np.nan])
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise InputError(f"weights of the subset in {name} must be finite numbers above 0; got {found[:5]}.")
    return weights


def _columns(what: Any) -> Columns:
    """Columns of a list, an array, a mapping, rows of mappings, or a data frame."""
    if hasattr(what, "columns") and hasattr(what, "to_dict"):
        return {str(name): what[name].tolist() for name in what.columns}
    if isinstance(what, Mapping):
        return _even({str(name): list(values) for name, values in what.items() if isinstance(values, list | tuple)})
    rows = sorted(what) if isinstance(what, set | frozenset) else list(np.asarray(what).ravel().tolist())
    if rows and all(isinstance(row, Mapping) for row in rows):
        return {str(name): [row.get(name) for row in rows] for name in rows[0]}
    return {"ids": rows}


def _even(columns: Columns) -> Columns:
    """Columns of equal length; refuse others."""
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
        raise DataError(f"columns of the subset must have the same length; got {lengths}.")
    return columns


def _read(path: Path) -> list[Columns]:
    """Columns of a file: the ways in which it can be read, the likeliest first."""
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            return [_parquet(path)]
        if kind == ".npy":
            return [_columns(np.load(path, allow_pickle=False))]
        if kind == ".json":
            return [_columns(json.loads(path.read_text(encoding="utf-8")))]
        return _lines(path, "\t" if kind == ".tsv" else ",")
    except (*UNREADABLE, csv.Error, pa.ArrowException) as error:
        if isinstance(error, WinnowError):
            raise
        raise DataError(f"{path} cannot be read as a list of ids: {reason(error)}.") from None


def _parquet(path: Path) -> Columns:
    import pyarrow.parquet as pq

    names = pq.read_schema(path).names
    usual = [name for name in names if name.strip().lower() in (*ID, *WEIGHT)]  # soft targets, say, are not read
    some = usual if any(name.strip().lower() in ID for name in usual) else names
    return dict(pq.read_table(path, columns=some).to_pydict())


def _lines(path: Path, between: str) -> list[Columns]:
    """Rows of text: with a header if the first one has a usual name; otherwise without one, or else with one."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, delimiter=between) if row]
    if not rows:
        return [{}]
    width = max(map(len, rows))
    full = [[*row, *[""] * (width - len(row))] for row in rows]
    headed = dict(zip(full[0], map(list, zip(*full[1:], strict=True)), strict=False))
    bare: Columns = {f"column {number}": list(column) for number, column in enumerate(zip(*full, strict=True), 1)}
    usual = any(cell.strip().lower() in ID for cell in full[0])
    return [headed] if usual else [bare, *([headed] if headed else [])]
