"""The record as Markdown tables and a figure."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg

import winnow as wn
from winnow.report.bench_figure import ranking_figure

__all__ = ["publish"]


def publish(record: wn.BenchRecord, part: str, folder: Path) -> None:
    """Write `record-PART.md` and `record-PART.png` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"record-{part}.md").write_text(told(record))
    if record.ranking():
        figure = ranking_figure(record.ranking())
        FigureCanvasAgg(figure).print_png(folder / f"record-{part}.png", metadata={"Software": None})


def told(record: wn.BenchRecord) -> str:
    """The ranking, every cell, and what was left out."""
    lines = [record.summary().markdown(), "", "Points over random per data set and fraction:", ""]
    lines += [record.grid().markdown(), ""]
    if record.left_out:
        lines += ["Left out:", "", *(f"- {row.method} on {row.data}: {row.why}" for row in record.left_out), ""]
    seeds = sorted({cell.seeds for cell in record.cells})
    lines.append(
        f"{len(record.outcomes):,} trainings, {' or '.join(map(str, seeds))} seeds per arm, made "
        f"{datetime.date.today()} on {os.cpu_count()} cores without a GPU."
    )
    return "\n".join([*lines, ""])
