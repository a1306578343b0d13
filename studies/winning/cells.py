"""Every data set and fraction: what `auto` gives, against everything that is free.

One training is observed per data set. At each fraction, `wn.prune` chooses: its candidate is tried, and used only if it
is ahead of random with the same soft targets. All arms are then retrained under one protocol. `auto` is the arm that
the veto left: the candidate with soft targets, or random with soft targets.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import winnow as wn
from winnow.artefacts.intervals import Interval
from winnow.core.run import recorded_seconds
from winnow.signals.soft_targets import soft_targets

from .data import Setting, opened

__all__ = ["ARMS", "Cell", "Ends", "cell_of", "named", "observed_and_pruned", "retrained", "run_cells", "run_setting"]

KEEPS = (0.5, 0.3, 0.1)
MATCH = 0.5  # matched iterations
ARMS = ("selected", "soft random", "soft selected", "everything", "soft everything")


class Ends(NamedTuple):
    """A difference with its interval, and how likely one as large is by luck."""

    centre: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Cell:
    """One data set at one fraction: the metric of each arm, and differences to random, in the metric's own unit."""

    data: str
    keep: float
    seeds: int
    steps: int
    candidate: str
    holds: bool
    veto: float
    weight: float
    means: dict[str, float]
    against_random: dict[str, Ends]
    auto_against_soft_random: Ends
    auto_against_everything: Ends
    auto_against_soft_everything: Ends
    seconds: dict[str, float]
    examples: int = 0  # training examples that there are; 0 in cells of earlier studies, which did not keep it

    @property
    def auto(self) -> str:
        """The arm that `auto` is."""
        return "soft selected" if self.holds else "soft random"


def run_setting(
    setting: Setting,
    out: Path,
    seeds: int,
    keeps: Sequence[float] = KEEPS,
    quick: bool = False,
    engine: wn.Local | None = None,
) -> list[Cell]:
    """Run one data set at every fraction; finished trainings are kept in `out`."""
    return run_cells(setting, opened(setting, quick), out, seeds, keeps, engine)


def run_cells(
    setting: Setting,
    data: tuple[wn.Source, wn.Source],
    out: Path,
    seeds: int,
    keeps: Sequence[float] = KEEPS,
    engine: wn.Local | None = None,
) -> list[Cell]:
    """The same on training and test data that are given."""
    (source, test), cells = data, []
    for keep in keeps:
        signals, subset = observed_and_pruned(setting, source, keep, out, engine)
        place = out / setting.name / f"{keep:g}"
        share_full(out / setting.name, place)
        cells.append(cell_of(setting, source, test, signals, subset, keep, seeds, place, out, engine))
    return cells


def share_full(folder: Path, place: Path) -> None:
    """Begin a study of one fraction with the trainings on everything that another fraction has: they are the same."""
    full = Path("study") / "trainings" / "full"
    others = sorted(folder.glob(f"*/evaluate/{full}"), key=lambda one: len(list(one.iterdir())))
    if not others or (place / "evaluate").exists():
        return
    done = others[-1].parents[3]
    for part in (full, Path("steps") / full):
        shutil.copytree(done / "evaluate" / part, place / "evaluate" / part)
    shutil.copy(done / "evaluate" / "run.json", place / "evaluate" / "run.json")


def cell_of(
    setting: Setting,
    source: wn.Source,
    test: wn.Source,
    signals: wn.Signals,
    subset: wn.Subset,
    keep: float,
    seeds: int,
    place: Path,
    out: Path,
    engine: wn.Local | None = None,
) -> Cell:
    """Retrain all arms at one fraction, and gather the numbers."""
    tried = subset.certificate["veto"]
    study = retrained(setting, source, test, signals, subset, keep, seeds, place, engine)
    names = named(study)
    auto = "soft selected" if tried["holds"] else "soft random"
    gained = ends(study.versus(names["soft selected"], names["soft random"]))
    observed = recorded_seconds(out / setting.name / "observe", "observe")
    return Cell(
        data=setting.name,
        keep=keep,
        seeds=seeds,
        steps=next(iter(study.of(names["random"]).values())).iterations,
        candidate=tried["candidate"],
        holds=tried["holds"],
        veto=tried["difference"],
        weight=subset.certificate["soft_weight"],
        means={word: study.interval(name).centre for word, name in names.items()},
        against_random={word: ends(study.versus(names[word], names["random"])) for word in ARMS},
        auto_against_soft_random=gained if tried["holds"] else Ends(0.0, 0.0, 0.0, 1.0),
        auto_against_everything=ends(study.versus(names[auto], names["everything"])),
        auto_against_soft_everything=ends(study.versus(names[auto], names["soft everything"])),
        seconds={
            "observe": observed,
            "veto": recorded_seconds(place / "prune", "veto"),
            "full": study.seconds(names["full"]),
            "subset": study.seconds(names["soft selected"]),
        },
        examples=len(source),
    )


def retrained(
    setting: Setting,
    source: wn.Source,
    test: wn.Source,
    signals: wn.Signals,
    subset: wn.Subset,
    keep: float,
    seeds: int,
    place: Path,
    engine: wn.Local | None = None,
) -> wn.Study:
    """Retrain all arms at one fraction; more seeds add to what is in the folder."""
    draws = [wn.prune(source, keep, targets="labels", veto=0, signals=signals, seed=number) for number in range(seeds)]
    return wn.evaluate(
        source,
        {"selected": draws},
        test=test,
        model=setting.model,
        recipe=setting.recipe,
        seeds=seeds,
        match_iterations=MATCH,
        soft=soft_targets(signals, weight=subset.certificate["soft_weight"]),
        out=place / "evaluate",
        engine=engine,
    )


def observed_and_pruned(
    setting: Setting, source: wn.Source, keep: float, out: Path, engine: wn.Local | None = None
) -> tuple[wn.Signals, wn.Subset]:
    """Observe once per data set, and prune at a fraction; both are read from `out` if they are there."""
    want = ("dynamics", "predictions", "embeddings")
    folder = out / setting.name / "observe"
    signals = wn.observe(source, setting.model, setting.recipe, 1, want, out=folder, engine=engine)
    subset = wn.prune(
        source,
        keep,
        model=setting.model,
        recipe=setting.recipe,
        signals=signals,
        match_iterations=MATCH,
        out=out / setting.name / f"{keep:g}" / "prune",
        engine=engine,
    )
    return signals, subset


def named(study: wn.Study) -> dict[str, str]:
    """The arms by the words of this study, without the fraction."""
    return {arm.name.split("@")[0]: arm.name for arm in study.arms}


def ends(found: Interval) -> Ends:
    """Centre, low, high and the two-sided p value."""
    return Ends(found.centre, found.low, found.high, found.p_value)
