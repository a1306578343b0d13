"""The cells of a benchmark: what a study says of each of its arms, beside random and everything at the same steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from ..artefacts import Study
from ..artefacts.bench_record import BenchCell, BenchOutcome
from ..artefacts.intervals import Interval
from ..artefacts.outcome import Arm

__all__ = ["cells_of", "once", "outcomes_of"]


def cells_of(study: Study, data: str, keep: float, methods: Collection[str], observed: float) -> list[BenchCell]:
    """One cell per arm of a study at one fraction.

    Parameters
    ----------
    study
        The study.
    data, keep
        The data set and the fraction.
    methods
        The arms that a method found; all others are free.
    observed
        Seconds of the observation that gave the soft targets.
    """
    return [_cell(study, arm, data, keep, methods, observed) for arm in study.arms]


def _cell(study: Study, arm: Arm, data: str, keep: float, methods: Collection[str], observed: float) -> BenchCell:
    method, soft = _called(arm)
    random = next(one.name for one in study.arms if one.kind == "random")
    everything = next((one.name for one in study.arms if one.same_steps is not None and one.in_plain_passes), None)
    got, full = study.interval(arm.name), study.full
    gap = None if arm.name == random else study.versus(arm.name, random)
    beside = None if everything in (None, arm.name) else study.versus(arm.name, str(everything))
    return BenchCell(
        data=data,
        keep=1.0 if arm.kind == "full" else keep,
        method=method,
        soft=soft,
        free=method not in methods,
        metric=study.metric,
        seeds=got.runs,
        steps=next(iter(study.of(arm.name).values())).iterations,
        value=got.centre,
        low=got.low,
        high=got.high,
        **_ends("gap", gap),
        p_value=math.nan if gap is None else gap.p_value,
        **_ends("everything", beside),
        find_seconds=max(float(sum(arm.selection.values())), observed if soft else 0.0),
        full_seconds=math.nan if full is None else study.seconds(full.name),
    )


def _ends(word: str, gap: Interval | None) -> dict[str, float]:
    first = "gap" if word == "gap" else f"{word}_gap"
    nan = math.nan
    centre, low, high = (nan, nan, nan) if gap is None else (gap.centre, gap.low, gap.high)
    return {first: centre, f"{word}_low": low, f"{word}_high": high}


def _called(arm: Arm) -> tuple[str, bool]:
    """The method of an arm without its fraction, and whether it uses soft targets."""
    soft = bool(arm.soft)
    name = arm.name.removeprefix("soft ") if soft else arm.name
    free = arm.kind != "subset" or name.startswith("random@")
    return (name.split("@")[0] if free else name), soft


def outcomes_of(study: Study, data: str, keep: float) -> list[BenchOutcome]:
    """One row per trained model."""
    rows = []
    for arm in study.arms:
        method, soft = _called(arm)
        fraction = 1.0 if arm.kind == "full" else keep
        for one in study.of(arm.name).values():
            row = (data, fraction, method, soft, one.seed, one.value, one.loss, one.iterations, one.seconds)
            rows.append(BenchOutcome(*row))
    return rows


def once(cells: Sequence[BenchCell]) -> list[BenchCell]:
    """Everything in full is the same at every fraction: keep it once, without a comparison at one size."""
    found: dict[tuple[str, float], BenchCell] = {}
    for cell in cells:
        found.setdefault((cell.name, cell.keep), cell)
    nan = math.nan
    bare = {"gap": nan, "gap_low": nan, "gap_high": nan, "p_value": nan}
    bare |= {"everything_gap": nan, "everything_low": nan, "everything_high": nan}
    return [BenchCell(**{**vars(cell), **bare}) if cell.keep == 1 else cell for cell in found.values()]
