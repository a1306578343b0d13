"""Verdicts: what a person said about findings, and how it is read back.

A verdict confirms a finding (the label is wrong, it is a near-duplicate) or refuses it. It belongs to a kind of
finding and an example. Where no kind is given, it is about the label. Beside the verdict, a person may say what the
label should be, and whether the example is dropped or always kept; `decisions` reads these.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import InputError, NotFoundError, StoreError, reason

__all__ = ["CHOICES", "OF_LABELS", "VERDICTS", "Mark", "read_marks", "read_rows"]

VERDICTS = ("", "confirmed", "refused")
CHOICES = ("", "drop", "keep")
COLUMNS = ("id", "kind", "verdict", "correction", "decision")  # of a file; the first and the third are needed
OF_LABELS = ("label", "target", "example")  # one of them has a row for every example, whatever the task


@dataclass(frozen=True)
class Mark:
    """One row of marks: kind of finding, id as text, verdict, corrected label, and "drop" or "keep"."""

    kind: str
    id: str
    verdict: str
    correction: str = ""
    choice: str = ""


def read_marks(marks: Any, kind: str = "label") -> dict[str, str]:
    """The verdicts on findings of one kind, by id as text; empty if there are none.

    An example that is always kept refuses every finding that nothing else is said about.

    Parameters
    ----------
    marks
        An `Issues`; a mapping of ids to "confirmed" or "refused" (or True or False), which is about labels; the path
        of a CSV file that the page exported, of the `marks.parquet` of the viewer, or of any CSV or parquet file with
        columns `id`, `verdict` and, if it is not about labels, `kind`; or None.
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
    rows = read_rows(marks)
    for row in rows:
        if not row.verdict or row.kind not in about:
            continue
        if found.setdefault(row.id, row.verdict) != row.verdict:
            raise InputError(f"marks must say one thing about each example; {row.id} is both confirmed and refused.")
    for row in rows:
        if row.choice == "keep":
            found.setdefault(row.id, "refused")
    return found


def read_rows(marks: Any) -> list[Mark]:
    """Every row of the marks, for what `read_marks` takes."""
    return [Mark(kind, id, _verdict(said), *_more(more)) for kind, id, said, *more in _rows(marks)]


def _more(more: list[Any]) -> tuple[str, str]:
    correction, choice = (str(one or "") for one in (*more, "", "")[:2])
    if choice not in CHOICES:
        raise InputError(f'decision of marks must be "drop" or "keep"; got {choice!r}.')
    return correction, choice


def _verdict(said: Any) -> str:
    if isinstance(said, bool | np.bool_):
        return "confirmed" if said else "refused"
    if said is None or said in VERDICTS:
        return said or ""
    raise InputError(f'marks must be "confirmed" or "refused" (or True or False); got {said!r}.')


def _rows(marks: Any) -> Iterable[tuple[Any, ...]]:
    """Kind, id and verdict of each mark, and for files and decisions the corrected label and the choice."""
    if marks is None:
        return []
    if isinstance(marks, Mapping):
        return [("label", str(id), said) for id, said in marks.items()]
    if isinstance(marks, str | Path):
        return _file(Path(marks))
    if hasattr(marks, "corrections") and hasattr(marks, "choices"):
        columns = (marks.kinds, marks.ids.astype(np.str_), marks.verdicts, marks.corrections, marks.choices)
        return list(zip(*(one.tolist() for one in columns), strict=True))
    if hasattr(marks, "verdicts") and hasattr(marks, "kinds"):
        said = marks.verdicts != ""
        ids = map(str, marks.ids[said].tolist())
        return list(zip(marks.kinds[said].tolist(), ids, marks.verdicts[said].tolist(), strict=True))
    raise InputError(f"marks must be Issues, a mapping of ids to verdicts, or a path; got {type(marks).__name__}.")


def _file(path: Path) -> list[tuple[Any, ...]]:
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
    more = zip_longest(columns.get("correction", ()), columns.get("decision", ()), fillvalue="")
    both = list(more) or [("", "")] * len(ids)
    return [
        (*first, *second) for first, second in zip(zip(kinds, ids, columns["verdict"], strict=True), both, strict=True)
    ]


def _parquet(path: Path) -> dict[str, list[Any]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        wanted = [name for name in COLUMNS if name in file.schema_arrow.names]
        return dict(file.read(columns=wanted).to_pydict())


def _csv(path: Path) -> dict[str, list[Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.DictReader(file)
        held: dict[str, list[Any]] = {name: [] for name in COLUMNS if name in (lines.fieldnames or ())}
        for line in lines:
            for name, values in held.items():
                values.append(line[name])
    return held
