"""The HTML page of a benchmark: the ranking, one figure, every cell, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from .. import __version__
from ..artefacts.bench_record import BenchRecord, Standing
from .bench_figure import ranking_figure
from .html_report import filled, written
from .method_pairs import MethodPair, method_pairs
from .palette import DARK, LIGHT, css_variables
from .svg import to_svg
from .table_cells import cell, table

__all__ = ["render_bench", "write_bench"]


def write_bench(record: BenchRecord, path: str | Path) -> Path:
    """Write a record as one self-contained HTML page.

    Parameters
    ----------
    record
        Of one or several data sets.
    path
        The HTML file to write.
    """
    return written(render_bench(record), Path(path))


def render_bench(record: BenchRecord) -> str:
    """The page as text."""
    ranked, pairs = record.ranking(), method_pairs(record)
    figure = ranking_figure(pairs) if pairs else None
    return filled(
        "bench.html",
        {
            "version": __version__,
            "name": ", ".join(record.data),
            "light": Markup(css_variables(LIGHT)),
            "dark": Markup(css_variables(DARK)),
            "head": _head(ranked),
            "figure": None if figure is None else Markup(to_svg(figure, "Points over random, per method", "ranking")),
            "ranking": table(RANKING, [_row(pair) for pair in pairs]),
            "grid": _grid(record, pairs),
            "protocol": [_protocol(name, dict(value)) for name, value in record.protocol.items()],
            "left_out": record.left_out,
        },
    )


RANKING = (
    "method",
    "labels, points over random",
    "soft targets, points over random",
    "over everything at the same steps",
    "cells",
    "above random",
    "below random",
    "cost to find, trainings",
)


def _head(ranked: tuple[Standing, ...]) -> str:
    """The result in one or two sentences."""
    methods = [row for row in ranked if not row.free]
    free = [row for row in ranked if row.free]
    if not methods:
        return "No method was run."
    best = methods[0]
    said = f"Best method: {best.name}, {_points(best.gap)} points over random"
    said += " (holds after correction for the number of methods)." if best.real else " (within the luck of seeds)."
    if free:
        said += f" Best of what is free: {free[0].name}, {_points(free[0].gap)} points."
    return said


def _row(pair: MethodPair) -> list[dict[str, str]]:
    beside = [_points(row.everything_gap) for row in pair.both]
    name = cell(pair.method, "free" if pair.free else "")
    return [
        name,
        cell("0", "the comparison") if pair.method == "random" and pair.labels is None else _standing(pair.labels),
        _standing(pair.soft),
        cell(beside[0] or "0", f"soft {beside[-1]}" if pair.labels is not None and pair.soft is not None else ""),
        cell(str(sum(row.cells for row in pair.both))),
        cell(str(sum(row.above for row in pair.both))),
        cell(str(sum(row.below for row in pair.both))),
        cell(pair.cost),
    ]


def _standing(row: Standing | None) -> dict[str, str]:
    """A mean difference to random with its interval, coloured if it holds."""
    if row is None:
        return cell("")
    ends = "" if math.isnan(row.high) else f"{_points(row.low)} to {_points(row.high)}"
    return cell(_points(row.gap), ends, "" if not row.real else "better" if row.gap > 0 else "worse")


def _grid(record: BenchRecord, pairs: Sequence[MethodPair]) -> dict[str, Any]:
    """Points over random in every cell, labels and soft targets side by side, in the order of the ranking."""
    real = record.real()
    kinds = [kind for kind in ("labels", "soft") if any(getattr(pair, kind) is not None for pair in pairs)]
    head = ["method", *(f"{data}, {keep:g}, {kind}" for data, keep in record.columns for kind in kinds)]
    rows = []
    for pair in pairs:
        cells = [cell(pair.method)]
        for place in record.columns:
            for kind in kinds:
                row = getattr(pair, kind)
                one = None if row is None else record.of(row.name).get(place)
                if one is None or math.isnan(one.gap):
                    cells.append(cell(""))
                    continue
                told = "" if not real.get((one.name, *place)) else "better" if one.gap > 0 else "worse"
                cells.append(cell(_points(one.gap), f"± {100 * one.reach:.2f}", told))
        rows.append(cells)
    return {"head": head, "rows": rows}


def _protocol(name: str, settings: dict[str, Any]) -> dict[str, str]:
    recipe = settings.get("recipe") or {}
    model = settings.get("model")
    network = model if isinstance(model, str) else (model or {}).get("name", "its own network")
    said = (
        f"{network}, {recipe.get('epochs', '?')} epochs, {len(settings.get('seeds', []))} seeds, matched iterations "
        f"{settings.get('match_iterations')}, soft targets {'off' if settings.get('labels_only') else 'on and off'}"
    )
    return {"data": name, "text": said}


def _points(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:+.2f}"
