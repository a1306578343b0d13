"""Is the plan right? What it forecast from a quarter of the data, against what was then measured.

    python -m studies.winning.plan_check --out runs/planning [--publish docs/studies]

For each data set, plans with pilots of different seeds forecast everything, random subsets and `auto`, and advise how
far to prune at several tolerances. Then everything, and random and `auto` at .5, .3 and every advised fraction, are
trained on all the data and measured on the test set, which no plan has seen. Finished trainings are kept. Rules were
fixed on digits and letter; phoneme and satimage were used once.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import winnow as wn
from winnow.artefacts.plan import Forecast, Plan
from winnow.core.progress import shown
from winnow.planning.recommendation import how_far

from .data import SETTINGS, Setting, opened

__all__ = ["Advised", "Row", "check", "lines"]

DATA = ("digits", "letter", "phoneme", "satimage")
MOST = 8000  # training examples of a data set
KEEPS = (0.5, 0.3)
TOLERANCES = (0.01, 0.02, 0.05)
ENGINE = wn.Local(workers=1)


@dataclass(frozen=True)
class Row:
    """One forecast, and what was measured."""

    data: str
    pilot: int
    forecast: Forecast
    measured: float

    @property
    def inside(self) -> bool:
        """Whether the measured value is in the interval."""
        return self.forecast.low <= self.measured <= self.forecast.high


@dataclass(frozen=True)
class Advised:
    """One piece of advice, and the loss that was measured there."""

    data: str
    pilot: int
    tolerance: float
    keep: float
    lost: float

    @property
    def kept(self) -> bool:
        """Whether the loss was within the tolerance; keeping everything always is."""
        return self.lost <= self.tolerance


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.winning.plan_check", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), help="data sets; all if not given")
    parser.add_argument("--pilots", type=int, default=2, help="plans per data set")
    parser.add_argument("--seeds", type=int, default=4, help="retrainings per arm")
    parser.add_argument("--publish", type=Path, help="also write the tables into this folder of the docs")
    return parser.parse_args()


def check(setting: Setting, out: Path, pilots: int, seeds: int) -> tuple[list[Row], list[Advised]]:
    """Plan, then measure."""
    source, test = opened(setting)
    if len(source) > MOST:
        source = source.at(np.sort(np.random.default_rng(0).permutation(len(source))[:MOST]), source.name)
    how = {"model": setting.model, "recipe": setting.recipe, "engine": ENGINE}
    plans = [
        wn.plan(source, pilot=True, seed=pilot, out=out / setting.name / f"plan-{pilot}", **how)
        for pilot in range(pilots)
    ]
    advice = {
        (pilot, tolerance): how_far(_table(plan), tolerance, "auto")
        for pilot, plan in enumerate(plans)
        for tolerance in TOLERANCES
    }
    keeps = sorted({*KEEPS, *advice.values()} - {1.0}, reverse=True)
    want = ("dynamics", "predictions", "embeddings")
    signals = wn.observe(source, want=want, out=out / setting.name / "observe", **how)
    arms = {f"auto@{keep:g}": _draws(source, keep, signals, plans[0], seeds, how) for keep in keeps}
    study = wn.evaluate(
        source, arms, test=test, seeds=seeds, same_steps=False, out=out / setting.name / "evaluate", **how
    )
    measured = {("random", 1.0): study.interval("full").centre}
    for keep in keeps:
        size = next(arm for arm in study.arms if arm.name == f"auto@{keep:g}")
        random = next(arm.name for arm in study.arms if arm.name.startswith("random@") and arm.size == size.size)
        measured["random", keep] = study.interval(random).centre
        measured["auto", keep] = study.interval(size.name).centre
    asked = [("random", 1.0), *((policy, keep) for keep in KEEPS for policy in ("random", "auto"))]
    rows = [
        Row(setting.name, pilot, _table(plan)[one], measured[one]) for pilot, plan in enumerate(plans) for one in asked
    ]
    full = measured["random", 1.0]
    advised = [
        Advised(setting.name, pilot, tolerance, keep, 0.0 if keep == 1 else full - measured["auto", keep])
        for (pilot, tolerance), keep in advice.items()
    ]
    return rows, advised


def _table(plan: Plan) -> dict[tuple[str, float], Forecast]:
    return {(row.policy, row.keep): row for row in plan.forecasts}


def _draws(
    source: wn.Source, keep: float, signals: wn.Signals, plan: Plan, seeds: int, how: dict[str, object]
) -> list[wn.Subset]:
    """One subset per seed, by what the veto left of `auto`."""
    first = wn.prune(source, keep, signals=signals, plan=plan, **how)
    given = {"signals": signals, "targets": "soft", **how}
    method = {"veto": 0} if first.certificate["veto"]["holds"] else {"method": "random"}
    return [wn.prune(source, keep, seed=seed, **given, **method) for seed in range(seeds)]


def lines(rows: list[Row], advised: list[Advised]) -> Iterator[str]:
    """Both tables, each with its counts."""
    yield "| data | pilot | kept | policy | forecast (95 %) | measured | miss, points | inside |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        told = row.forecast
        policy = "everything" if told.keep == 1 else told.policy
        yield (
            f"| {row.data} | {row.pilot} | {told.keep:g} | {policy} "
            f"| {100 * told.accuracy:.1f} ({100 * told.low:.1f} to {100 * told.high:.1f}) | {100 * row.measured:.1f} "
            f"| {100 * (row.measured - told.accuracy):+.1f} | {'yes' if row.inside else 'no'} |"
        )
    yield ""
    for name in ("everything", "random", "auto"):
        some = [row for row in rows if ("everything" if row.forecast.keep == 1 else row.forecast.policy) == name]
        misses = [100 * abs(row.measured - row.forecast.accuracy) for row in some]
        wide = float(np.median([100 * (row.forecast.high - row.forecast.low) for row in some]))
        yield (
            f"- {name}: {sum(row.inside for row in some)} of {len(some)} inside; median miss "
            f"{np.median(misses):.1f} points, largest {max(misses):.1f}; median width of the interval {wide:.1f}"
        )
    yield ""
    yield "| data | pilot | tolerance, points | advised for auto | lost there, points | kept its word |"
    yield "|---|---|---|---|---|---|"
    for one in advised:
        said = "everything" if one.keep == 1 else f"{one.keep:g}"
        lost = "" if one.keep == 1 else f"{100 * one.lost:+.1f}"
        yield (
            f"| {one.data} | {one.pilot} | {100 * one.tolerance:g} | {said} | {lost} | {'yes' if one.kept else 'no'} |"
        )
    less = [one for one in advised if one.keep < 1]
    yield ""
    yield (
        f"Of {len(advised)} pieces of advice, {len(less)} were to keep less than everything; "
        f"{sum(one.kept for one in less)} of these kept their tolerance."
    )


def main() -> None:
    asked = options()
    rows: list[Row] = []
    advised: list[Advised] = []
    for name in asked.data:
        found = check(SETTINGS[name], asked.out, asked.pilots, asked.seeds)
        rows, advised = rows + found[0], advised + found[1]
    made = (
        f"At most {MOST:,} training examples, MLP, 30 epochs, {asked.seeds} retrainings per arm, pilots of a quarter "
        f"of the data. Made {datetime.date.today()} on one core by "
        "`python -m studies.winning.plan_check`."
    )
    text = "\n".join([*lines(rows, advised), "", made, ""])
    (asked.out / "plan-check.md").write_text(text)
    print(text)
    if asked.publish:
        (asked.publish / "plan-check.md").write_text(text)
        picture = asked.out / asked.data[-1] / "plan-0" / "plan.png"
        (asked.publish / "plan-check.png").write_bytes(picture.read_bytes())


if __name__ == "__main__":
    with shown():
        main()
