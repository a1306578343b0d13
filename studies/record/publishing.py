"""The record as Markdown tables and a figure, and its results kept beside the code."""

from __future__ import annotations

import datetime
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

import winnow as wn
from winnow.artefacts.bench_record import Standing
from winnow.bench.benchmark import joined
from winnow.report.bench_figure import ranking_figure
from winnow.report.method_pairs import MethodPair, method_pairs

from .sizes import grid_told

__all__ = ["RESULTS", "finished", "keep", "publish", "publish_bridge", "told"]

RESULTS = Path(__file__).parent / "results"  # the published record, one folder per data set


def keep(out: Path, part: str, results: Path = RESULTS) -> wn.BenchRecord:
    """Add the records below `out` to those that were kept before, and return all of them as one.

    So a record can be made data set by data set and fraction by fraction, by several people. A fraction that was kept
    before is replaced; under another protocol, the whole data set is.
    """
    for found in sorted(out.glob("*/record/bench.json")):
        there = results / part / found.parent.parent.name / "record"
        made = wn.BenchRecord.load(found.parent)
        if there.exists():
            made = with_other_fractions(made, wn.BenchRecord.load(there))
            shutil.rmtree(there)
        made.save(there)
    return joined(results / part)


def with_other_fractions(new: wn.BenchRecord, old: wn.BenchRecord) -> wn.BenchRecord:
    """The new record of a data set with the fractions of an old one that it lacks, if they share a protocol."""
    (name,) = new.data
    if rules(new.protocol[name]) != rules(old.protocol.get(name, {})):
        return new
    known = {cell.keep for cell in new.cells}
    cells = (*new.cells, *(cell for cell in old.cells if cell.keep not in known))
    outcomes = (*new.outcomes, *(row for row in old.outcomes if row.keep not in known))
    left_out = {(row.method, row.why): row for row in (*old.left_out, *new.left_out)}
    keeps = sorted({cell.keep for cell in cells if cell.keep < 1}, reverse=True)
    return replace(
        new,
        cells=cells,
        outcomes=outcomes,
        left_out=tuple(left_out.values()),
        protocol={name: {**new.protocol[name], "keeps": keeps}},
    )


def rules(protocol: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for fractions to stand in one table."""
    return {name: value for name, value in protocol.items() if name not in ("keeps", "budget", "engine")}


def finished(record: wn.BenchRecord, keeps: Sequence[float]) -> wn.BenchRecord:
    """The data sets that have all these fractions: nothing else is published."""
    names = {name for name in record.data if {(name, keep) for keep in keeps} <= set(record.columns)}
    return wn.BenchRecord(
        cells=tuple(cell for cell in record.cells if cell.data in names),
        outcomes=tuple(row for row in record.outcomes if row.data in names),
        left_out=tuple(row for row in record.left_out if row.data in names),
        protocol={name: value for name, value in record.protocol.items() if name in names},
        provenance={name: value for name, value in record.provenance.items() if name in names},
    )


def publish(record: wn.BenchRecord, part: str, folder: Path) -> None:
    """Write `record-PART.md`, and `record-PART.png` if it ranks methods, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if part == "grid":
        (folder / "record-grid.md").write_text("\n".join([*grid_told(record), "", made(record), ""]))
        return
    (folder / f"record-{part}.md").write_text(told(record))
    pairs = method_pairs(record)
    if pairs:
        figure = ranking_figure(pairs)
        FigureCanvasAgg(figure).print_png(folder / f"record-{part}.png", metadata={"Software": None})


def told(record: wn.BenchRecord) -> str:
    """The ranking, every data set, and what was left out."""
    pairs = method_pairs(record)
    lines = [*counted(record), "", *ranking(pairs), ""]
    for data in record.data:
        lines += [f"**{data}**: {reference(record, data)}", "", *every(record, data, pairs), ""]
    if record.left_out:
        lines += ["Left out:", "", *(f"- {row.method} on {row.data}: {row.why}" for row in record.left_out), ""]
    return "\n".join([*lines, made(record), ""])


def made(record: wn.BenchRecord) -> str:
    """How many trainings, when, and on what."""
    seeds = sorted({cell.seeds for cell in record.cells})
    return (
        f"{len(record.outcomes):,} trainings, {' or '.join(map(str, seeds))} seeds per arm, made "
        f"{datetime.date.today()} on {os.cpu_count()} cores without a GPU."
    )


def publish_bridge(lines: Sequence[str], repeats: int, folder: Path) -> None:
    """Write `record-bridge.md` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    end = (
        f"Fashion-MNIST, LeNet-5, {repeats} repeats, each with its own images, observation and weights; ± is half "
        f"a 95 % interval over repeats. Made {datetime.date.today()} on {os.cpu_count()} cores by "
        f"`python -m studies.record --part bridge --seeds {repeats}`."
    )
    (folder / "record-bridge.md").write_text("\n".join([*lines, "", end, ""]))


def counted(record: wn.BenchRecord) -> list[str]:
    """How many differences hold, of how many."""
    real = record.real()
    lines = [
        "| compared with random of the same size | cells | above, after Holm | below, after Holm |",
        "|---|---|---|---|",
    ]
    groups = {
        "methods, labels": (False, False),
        "methods, soft targets": (False, True),
        "free, labels": (True, False),
        "free, soft targets": (True, True),
    }
    for name, (free, soft) in groups.items():
        cells = [one for one in record.cells if (one.free, one.soft) == (free, soft) and not math.isnan(one.gap)]
        if cells:
            held = [one for one in cells if real[one.name, one.data, one.keep]]
            up, down = (sum((one.gap > 0) == side for one in held) for side in (True, False))
            lines.append(f"| {name} | {len(cells)} | {up} | {down} |")
    return lines


def ranking(pairs: Sequence[MethodPair]) -> list[str]:
    """One row per method: points over random with labels and with soft targets, and the cost to find."""
    lines = [
        "| method | labels: over random | soft targets: over random | over everything, same steps: labels, soft | "
        "cost to find, trainings |",
        "|---|---|---|---|---|",
    ]
    for pair in pairs:
        name = f"*{pair.method}* (free)" if pair.free else f"`{pair.method}`"
        first = "0, by definition" if pair.method == "random" else standing(pair.labels)
        beside = ", ".join(points(row.everything_gap) or "0" for row in pair.both)
        lines.append(f"| {name} | {first} | {standing(pair.soft)} | {beside} | {pair.cost} |")
    return lines


def standing(row: Standing | None) -> str:
    """A mean difference with half its interval, marked where it holds after correction."""
    if row is None:
        return ""
    mark = "" if not row.real else " ▲" if row.gap > 0 else " ▼"
    half = "" if math.isnan(row.high) else f" ± {100 * (row.high - row.gap):.2f}"
    return f"{points(row.gap)}{half}{mark}"


def reference(record: wn.BenchRecord, data: str) -> str:
    """What everything and random reach."""
    said = []
    for cell in record.cells:
        if cell.data == data and not cell.soft and cell.method in ("full", "random"):
            what = "everything in full" if cell.method == "full" else f"random {cell.keep:g}"
            said.append(f"{what} {100 * cell.value:.2f}")
    return f"{'; '.join(said)} % {record.cells[0].metric}."


def every(record: wn.BenchRecord, data: str, pairs: Sequence[MethodPair]) -> list[str]:
    """Points over random at every fraction of one data set, with labels and with soft targets."""
    real = record.real()
    kinds = [kind for kind in ("labels", "soft") if any(getattr(pair, kind) is not None for pair in pairs)]
    places = [(kind, keep) for kind in kinds for name, keep in record.columns if name == data]
    lines = [
        "| points over random | " + " | ".join(f"{kind} {keep:g}" for kind, keep in places) + " |",
        "|---" * (len(places) + 1) + "|",
    ]
    halves: dict[tuple[str, float], list[float]] = {place: [] for place in places}
    for pair in pairs:
        row = []
        for kind, keep in places:
            one = None if getattr(pair, kind) is None else record.of(getattr(pair, kind).name).get((data, keep))
            if one is None or math.isnan(one.gap):
                row.append("")
                continue
            mark = "" if not real.get((one.name, data, keep)) else " ▲" if one.gap > 0 else " ▼"
            halves[kind, keep].append(100 * one.reach)
            row.append(points(one.gap) + mark)
        if any(row):
            name = f"*{pair.method}*" if pair.free else f"`{pair.method}`"
            lines.append(f"| {name} | " + " | ".join(row) + " |")
    usual = [f"± {float(np.median(halves[place])):.2f}" if halves[place] else "" for place in places]
    return [*lines, "| half an interval, median | " + " | ".join(usual) + " |"]


def points(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:+.2f}"
