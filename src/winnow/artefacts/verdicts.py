"""Verdicts: what a person said about findings, and how it is read back.

A verdict confirms a finding (the label is wrong, it is a near-duplicate) or refuses it. It belongs to a kind of
finding and an example. Where no kind is given, it is about the label.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import InputError, NotFoundError, StoreError, reason

__all__ = ["VERDICTS", "read_marks"]

VERDICTS = ("", "confirmed", "refused")
OF_LABELS = ("label", "target", "example")  # one of them has a row for every example, whatever the task


def read_marks(marks: Any, kind: str = "label") -> dict[str, str]:
    """The verdicts on findings of one kind, by id as text; empty if there are none.

    Parameters
    ----------
    marks
        An `Issues`; a mapping of ids to "confirmed" or "refused" (or True or False), which is about labels; the path
        of a CSV file that the page exported, or of any CSV or parquet file with columns `id`, `verdict` and, if it is
        not about labels, `kind`; or None.
    kind
        The kind of finding.

    Returns
    -------
    dict
        "confirmed" or "refused" by id.

    Raises
    ------
    NotFoundError
        If there is no such file.
    StoreError
        If it is not such a file.
    InputError
        If a verdict is neither of the two, or an example has both.

    Examples
    --------
    >>> read_marks({"a": True, "b": "refused"})
    {'a': 'confirmed', 'b': 'refused'}
    """
    found: dict[str, str] = {}
    about = set(OF_LABELS if kind in OF_LABELS else (kind,))
    for of, id, said in _rows(marks):
        verdict = _verdict(said)
        if not verdict or of not in about:
            continue
        if found.setdefault(id, verdict) != verdict:
            raise InputError(f"marks must say one thing about each example; {id} is both confirmed and refused.")
    return found


def _verdict(said: Any) -> str:
    if isinstance(said, bool | np.bool_):
        return "confirmed" if said else "refused"
    if said is None or said in VERDICTS:
        return said or ""
    raise InputError(f'marks must be "confirmed" or "refused" (or True or False); got {said!r}.')


def _rows(marks: Any) -> Iterable[tuple[str, str, Any]]:
    """Kind, id and verdict of each mark."""
    if marks is None:
        return []
    if isinstance(marks, Mapping):
        return [("label", str(id), said) for id, said in marks.items()]
    if isinstance(marks, str | Path):
        return _file(Path(marks))
    if hasattr(marks, "verdicts") and hasattr(marks, "kinds"):
        said = marks.verdicts != ""
        ids = map(str, marks.ids[said].tolist())
        return list(zip(marks.kinds[said].tolist(), ids, marks.verdicts[said].tolist(), strict=True))
    raise InputError(f"marks must be Issues, a mapping of ids to verdicts, or a path; got {type(marks).__name__}.")


def _file(path: Path) -> list[tuple[str, str, Any]]:
    if not path.is_file():
        raise NotFoundError(f"marks: there is no file {path}.")
    try:
        columns = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    except (OSError, ValueError, csv.Error) as error:
        raise StoreError(f"marks: {path} cannot be read as CSV or parquet ({reason(error)}).") from None
    lacking = [name for name in ("id", "verdict") if name not in columns]
    if lacking:
        raise StoreError(f"marks: {path} has no column {lacking[0]!r}.")
    ids = [str(one) for one in columns["id"]]
    kinds = columns.get("kind") or ["label"] * len(ids)
    return list(zip(kinds, ids, columns["verdict"], strict=True))


def _parquet(path: Path) -> dict[str, list[Any]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        wanted = [name for name in ("id", "kind", "verdict") if name in file.schema_arrow.names]
        return dict(file.read(columns=wanted).to_pydict())


def _csv(path: Path) -> dict[str, list[Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.DictReader(file)
        held: dict[str, list[Any]] = {
            name: [] for name in ("id", "kind", "verdict") if name in (lines.fieldnames or ())
        }
        for line in lines:
            for name, values in held.items():
                values.append(line[name])
    return held
