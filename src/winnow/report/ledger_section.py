"""The section of a report about time: what finding a subset cost, what it saves, and when it pays off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ..core.units import MINUS, seconds_text
from . import figures
from . import sentences as words
from .table_cells import cell, table

__all__ = ["ledger_section", "signed_seconds"]


def ledger_section(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """The cost of finding each subset and the time it saves; None if no subset was trained."""
    if not rows:
        return None
    found = list(rows.values())
    said = [{"arm": row["arm"], "text": text[0].upper() + text[1:] + "."} for row in found if (text := words.net(row))]
    cells = [
        [
            cell(str(row["arm"])),
            *(cell(_plain_seconds(row[key])) for key in ("observe_s", "score_s", "select_s")),
            cell(seconds_text(more) if (more := words.searching(row)) else ""),
            cell(seconds_text(made) if (made := words.relabelling(row)) > 0 else ""),
            *(cell(_plain_seconds(row[key])) for key in ("selection_s", "train_s", "full_train_s")),
            cell(signed_seconds(row["saved_per_training_s"])),
            cell(signed_seconds(row["net_after_one_s"])),
            cell(words.pays(row)),
        ]
        for row in found
    ]
    head = [
        "subset",
        "observing",
        "scoring",
        "selecting",
        "planning, veto, searching",
        "relabelling",
        "selection, total",
        "training",
        "full training",
        "saved per training",
        "net after one",
        "pays off after",
    ]
    bar = figures.ledger_bar(found)
    return {
        "said": said if len(said) <= 3 else [],
        "table": table(head, cells),
        "svg": Markup(figures.to_svg(bar, "seconds until the end of the first training", "l0")),
    }


def _plain_seconds(value: float) -> str:
    return "" if value is None or math.isnan(value) else seconds_text(value)


def signed_seconds(value: float) -> str:
    """Seconds with their sign; empty if unknown."""
    if math.isnan(value):
        return ""
    return (MINUS if value < 0 else "+") + seconds_text(abs(value))
