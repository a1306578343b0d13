"""Tables as the templates print them: a header and rows of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..artefacts import Interval
from .metric_units import Units
from .sentences import verdict

__all__ = ["cell", "gap_cell", "table"]


def gap_cell(units: Units, gap: Interval | None, judge: bool = False) -> dict[str, str]:
    """A difference with its interval; `judge` marks it if the interval excludes zero."""
    if gap is None:
        return cell("")
    return cell(units.number(gap.centre, True), units.ends(gap), kind=verdict(gap) if judge else "")


def cell(text: str, sub: str = "", kind: str = "") -> dict[str, str]:
    """A cell: its text, a smaller line below, and its CSS class."""
    return {"text": text, "sub": sub, "kind": kind.replace(" ", "-")}


def table(head: Sequence[str], rows: Sequence[Sequence[dict[str, str]]]) -> dict[str, Any]:
    """A table without its empty columns."""
    full = [index for index in range(len(head)) if any(row[index]["text"] for row in rows)]
    return {"head": [head[index] for index in full], "rows": [[row[index] for index in full] for row in rows]}
