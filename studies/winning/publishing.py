"""The table and the figure of the study, and what they say, from its cells."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from winnow.artefacts.intervals import holm

from ..parts import COLOURS, FULL, INK, RANDOM, WIDTH
from .cells import ARMS, MATCH, Cell, Ends
from .data import CONFIRMATION, DEVELOPMENT, FRESH, IMBALANCED, SETTINGS

__all__ = ["RECORD", "publish", "published", "summary", "table"]

CELLS = "winning-cells.json"
RECORD = Path(__file__).parent / "record"  # cells of the published table, kept with the code
HEADS = {
    "selected": "selected",
    "soft random": "random + soft",
    "soft selected": "selected + soft",
    "everything": "everything, same steps",
    "soft everything": "the same + soft",
}


def publish(new: Sequence[Cell], folder: Path, record: Path | None = None) -> None:
    """Write `winning-table.md` and `winning.png` into a folder, and `winning-cells.json` beside them or into `record`.

    Cells that were there stay: one takes the place of an earlier one of the same data and fraction. So a study can be
    run data set by data set, by several people.
    """
    record = folder if record is None else record
    for place in (folder, record):
        place.mkdir(parents=True, exist_ok=True)
    joined = {(cell.data, cell.keep): cell for cell in (*published(record), *new)}
    order = [*DEVELOPMENT, *CONFIRMATION, *FRESH, *IMBALANCED]
    cells = sorted(joined.values(), key=lambda cell: (order.index(cell.data), -cell.keep))
    (record / CELLS).write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")
    (folder / "winning-table.md").write_text("\n".join([*table(cells), "", *summary(cells), ""]))
    FigureCanvasAgg(draw(cells)).print_png(folder / "winning.png", metadata={"Software": None})


def published(folder: Path) -> list[Cell]:
    """The cells that a folder has."""
    file = folder / CELLS
    return [_read(one) for one in json.loads(file.read_text())] if file.exists() else []


def _read(written: dict[str, Any]) -> Cell:
    against = {arm: Ends(*ends) for arm, ends in written["against_random"].items()}
    others = {name: Ends(*ends) for name, ends in written.items() if name.startswith("auto_against")}
    return Cell(**{**written, **others, "against_random": against})


def table(cells: Sequence[Cell]) -> list[str]:
    """Differences to random in points, per data set and fraction."""
    lines = [
        f"Accuracy in points over a random subset of the same size and steps (matched iterations {MATCH:g}). ▲ above, "
        "▼ below random where the 95 % interval (seeds, draws and test examples) leaves zero out. Data sets marked * "
        "were used to fix the rules. *auto* is the arm in bold: the candidate if the veto let it pass, otherwise "
        "random + soft.",
        "",
        "| data | kept | random, % | candidate | veto, points | " + " | ".join(HEADS.values()) + " | full, % |",
        "|---|--:|--:|---|--:|" + "--:|" * (len(HEADS) + 1),
    ]
    for cell in cells:
        gaps = []
        for arm in ARMS:
            text = shown(cell.against_random[arm])
            gaps.append(f"**{text}**" if arm == cell.auto else text)
        star = "*" if cell.data in DEVELOPMENT else ""
        lines.append(
            f"| {cell.data}{star}{many(cell)} | {cell.keep:g} | {100 * cell.means['random']:.2f} | {cell.candidate} | "
            f"{100 * cell.veto:+.2f}{'' if cell.holds else ', fails'} | {' | '.join(gaps)} | "
            f"{100 * cell.means['full']:.2f} |"
        )
    return lines


def many(cell: Cell) -> str:
    """How many training examples there are, if a setting was run with fewer than it says."""
    planned = SETTINGS[cell.data].examples if cell.data in SETTINGS else None
    return f", {cell.examples:,}" if planned and 0 < cell.examples < planned else ""


def shown(gap: Ends) -> str:
    """A difference in points, with a mark if its interval leaves zero out."""
    mark = " ▲" if gap.low > 0 else " ▼" if gap.high < 0 else ""
    return f"{100 * gap.centre:+.2f}{mark}"


def summary(cells: Sequence[Cell]) -> list[str]:
    """What the table says, in numbers."""
    groups = {
        "development": [cell for cell in cells if cell.data in DEVELOPMENT],
        "confirmation": [cell for cell in cells if cell.data in CONFIRMATION],
        "fresh": [cell for cell in cells if cell.data in FRESH],
        "imbalanced": [cell for cell in cells if cell.data in IMBALANCED],
    }
    lines = []
    for name, group in groups.items():
        if not group:
            continue
        auto = [cell.against_random[cell.auto] for cell in group]
        above, below = sum(gap.low > 0 for gap in auto), sum(gap.high < 0 for gap in auto)
        corrected = holm([gap.p_value for gap in auto])
        worse = sum(p < 0.05 and gap.centre < 0 for p, gap in zip(corrected, auto, strict=True))
        added = float(np.mean([cell.auto_against_soft_random.centre for cell in group]))
        fell = sum(not cell.holds for cell in group)
        median = 100 * float(np.median([gap.centre for gap in auto]))
        lines += [
            f"- On the {name} data ({len(group)} cells), auto is above random by its interval in {above} cells and "
            f"below in {below} ({worse} after Holm's correction); the median difference is {median:+.2f} points, the "
            f"lowest {100 * min(gap.centre for gap in auto):+.2f}. Selection adds {100 * added:+.2f} points to random "
            f"with the same soft targets on average. The veto fell back to random + soft in {fell} cells.",
        ]
    lines += _together(cells)
    full = [cell for cell in cells if cell.seconds["full"] > 0]
    if full:
        found = [(c.seconds["observe"] + c.seconds["veto"]) / c.seconds["full"] for c in full]
        lines.append(
            f"- Finding the subset took {np.median(found):.1f} full trainings at the median (observing and veto; at "
            f"matched iterations {MATCH:g} the trainings of the veto are long)."
        )
    networks = ", ".join(f"{name} {SETTINGS[name].model}" for name in dict.fromkeys(cell.data for cell in cells))
    fewer = sorted({f"{cell.seeds} on {cell.data}" for cell in cells if cell.seeds != 5})
    seeds = "5 seeds per arm" + (f" ({', '.join(fewer)})" if fewer else "")
    lines += [
        "",
        f"{seeds}; {networks}. Last made {datetime.date.today()} on {os.cpu_count()} cores by "
        "`python -m studies.winning`.",
    ]
    return lines


def _together(cells: Sequence[Cell]) -> list[str]:
    """What all cells say: per fraction, against everything at the same steps, and of the veto."""
    parts = []
    for keep in sorted({cell.keep for cell in cells}, reverse=True):
        some = [cell.against_random[cell.auto].low > 0 for cell in cells if cell.keep == keep]
        parts.append(f"{sum(some)} of {len(some)} at {keep:g}")
    above = sum(cell.against_random[cell.auto].low > 0 for cell in cells)
    behind = sum(cell.auto_against_everything.high < 0 for cell in cells)
    ahead = [f"{cell.data} {cell.keep:g}" for cell in cells if cell.auto_against_everything.low > 0]
    turned = [cell for cell in cells if not cell.holds]
    missed = [
        cell.against_random["soft selected"].centre - cell.against_random["soft random"].centre for cell in turned
    ]
    lines = [
        f"- Over all {len(cells)} cells, auto is above random by its interval in {above}: {', '.join(parts)}. "
        f"Everything for the same number of steps is ahead of it by its interval in {behind} cells and behind in "
        f"{len(ahead)} ({', '.join(ahead) or 'none'}).",
    ]
    if turned:
        worse, better = (100 * max(0.0, most) for most in (-min(missed), max(missed)))
        lines.append(
            f"- Where the veto fell back, the candidate would have been worse than random + soft in "
            f"{sum(gap < 0 for gap in missed)} of {len(turned)} cells (by {worse:.1f} points at most) and better in "
            f"{sum(gap > 0 for gap in missed)} (by {better:.1f} at most)."
        )
    return lines


def draw(cells: Sequence[Cell]) -> Figure:
    """One row per cell: each arm's difference to random."""
    figure = Figure(figsize=(WIDTH, 0.8 + 0.26 * len(cells)), layout="constrained")
    axes = figure.add_subplot()
    styles = {
        "soft random": (RANDOM, "o"),
        "everything": (FULL, "|"),
        "soft everything": (COLOURS[2], "|"),
    }
    for row, cell in enumerate(cells):
        for arm, (colour, marker) in styles.items():
            axes.plot(100 * cell.against_random[arm].centre, row, marker, color=colour, markersize=6)
        gap = cell.against_random[cell.auto]
        axes.plot([100 * gap.low, 100 * gap.high], [row, row], color=COLOURS[0], linewidth=2.5, alpha=0.5)
        axes.plot(100 * gap.centre, row, "D", color=COLOURS[0], markersize=5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(cells)), [f"{cell.data} {cell.keep:g}" for cell in cells], fontsize=7)
    axes.set_xscale("symlog", linthresh=2)
    axes.set_xticks([-2, -1, 0, 1, 2, 5, 10], ["-2", "-1", "0", "1", "2", "5", "10"])
    axes.set_ylim(len(cells) - 0.3, -0.7)
    axes.set_xlabel("points over a random subset of the same size and steps")
    names = {"auto, with its 95 % interval": (COLOURS[0], "D"), "random + soft": (RANDOM, "o")}
    names |= {"everything, same steps": (FULL, "|"), "the same + soft": (COLOURS[2], "|")}
    handles = [axes.plot([], [], marker, color=colour, label=word)[0] for word, (colour, marker) in names.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, fontsize=8)
    return figure
