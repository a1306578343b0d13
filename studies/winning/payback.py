"""Does finding a subset pay? Seconds of finding and of training, against training on everything in full.

    python -m studies.winning.payback --out runs/payback [--data fashion-mnist mnist] [--keep 0.3] [--seeds 3]

Each data set is pruned twice: with the network itself as the observer, and with a cheaper one. All trainings have the
epochs of the recipe (matched iterations 0). Finding is observing, the veto and choosing; it pays after n trainings if

    finding + n x (training on the subset) <= n x (training on everything).

Run it with nothing else on the machine: it measures seconds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import winnow as wn
from winnow.artefacts import Interval, Table
from winnow.core.progress import shown
from winnow.core.run import recorded_seconds

from .data import SETTINGS, Setting, opened

STAGES = ("observe", "veto", "select")


@dataclass(frozen=True)
class Payback:
    """One data set, fraction and observer."""

    data: str
    keep: float
    observer: str
    finding: float
    subset: float
    full: float
    method: str
    gained: str  # accuracy of the subset over random, in points
    lost: str  # accuracy of everything in full over the subset, in points

    @property
    def first(self) -> float:
        """Finding and one training on the subset, in trainings on everything."""
        return (self.finding + self.subset) / self.full

    @property
    def pays_after(self) -> float:
        """Number of trainings after which it pays; infinite if a training saves nothing."""
        saved = self.full - self.subset
        return math.inf if saved <= 0 else max(1, math.ceil(self.finding / saved))

    def row(self) -> dict[str, object]:
        """As a row of the table."""
        return {
            "data": self.data,
            "kept": self.keep,
            "observer": self.observer,
            "method": self.method,
            "finding, s": round(self.finding, 1),
            "subset, s": round(self.subset, 1),
            "full, s": round(self.full, 1),
            "first training, in full ones": round(self.first, 2),
            "pays after": self.pays_after,
            "over random, points": self.gained,
            "below full, points": self.lost,
        }


def measured(setting: Setting, keep: float, observer: str | None, seeds: int, out: Path) -> Payback:
    """Prune, retrain, and read the seconds from the run."""
    source, test = opened(setting)
    place = out / setting.name / f"{keep:g}-{observer or 'itself'}"
    one = wn.Local(workers=1)  # seconds of trainings side by side on few cores are not those of a training alone
    how = {"model": setting.model, "recipe": setting.recipe, "engine": one}
    subset = wn.prune(source, keep, observer=observer, out=place / "prune", **how)
    name = f"auto@{keep:g}"
    study = wn.evaluate(source, {name: subset}, test=test, seeds=seeds, out=place / "evaluate", **how)
    random = next(arm.name for arm in study.arms if arm.kind == "random")
    return Payback(
        setting.name,
        keep,
        observer or setting.model,
        sum(recorded_seconds(place / "prune", stage) for stage in STAGES),
        study.seconds(name),
        study.seconds("full"),
        str(subset.certificate["method"]),
        _points(study.versus(name, random)),
        _points(study.versus("full", name)),
    )


def _points(found: Interval) -> str:
    return f"{100 * found.centre:+.2f} ({100 * found.low:+.2f} to {100 * found.high:+.2f})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.payback", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", nargs="+", default=["fashion-mnist", "mnist"], choices=list(SETTINGS))
    parser.add_argument("--keep", type=float, default=0.3)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args(arguments)
    rows = []
    for name in asked.data:
        setting = SETTINGS[name]
        for observer in dict.fromkeys((setting.proxy, None)):
            rows.append(measured(setting, asked.keep, observer, asked.seeds, asked.out).row())
            (asked.out / "payback.md").write_text(Table(tuple(rows)).markdown() + "\n")
    print((asked.out / "payback.md").read_text())


if __name__ == "__main__":
    with shown():
        main()
