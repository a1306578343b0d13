"""The ledger: the cost of finding a subset, the time saved per training, and when it pays off.

All numbers are seconds of work (`core.work_clock`) of this study's own trainings, averaged over seeds: processor time
where that is honest, so that a busy machine does not make one part look cheaper than another. The cost of finding the
subset is complete: planning, observing, scoring, selecting, the trainings that confirm a choice (the veto) and, for a
tolerance, searching. It includes making the targets that the subset is trained with, and training the model that made
them if it was trained for this purpose. Let s be the seconds to find the subset, t those of one training on it, and T
those of one training on the full data. One training then saves T - t - s net, and the subset pays off after the
smallest number of trainings k >= 1 with k (T - t) >= s. This is counted against training on everything in full, and is
not said of a subset that is worse than random, which costs nothing to find. Everything for the same number of steps
takes as long as the subset and costs nothing to find either: beside it no time is saved, and the difference of the
metric is given instead.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..core.files import read_json
from ..core.step_record import recorded_seconds
from .free_alternatives import judge
from .study import Study
from .subset import Subset
from .table import Table

__all__ = ["COUNTED", "STAGES", "costs_of", "ledger"]


STAGES = ("plan", "observe", "score", "select", "veto", "search")  # the stages of finding a subset
COUNTED = (*STAGES, "targets", "pretrain")  # and everything else that may precede a training


def ledger(study: Study) -> Table:
    """One row per subset of a study.

    Returns
    -------
    Table
        Keys: `arm`, `plan_s`, `observe_s`, `score_s`, `select_s`, `veto_s`, `search_s`, `targets_s`, `pretrain_s`,
        `selection_s` (their sum), `train_s`, `full_train_s`, `saved_per_training_s`, `net_after_one_s`, `pays_after`
        (None if it never does, if that is unknown, or if the subset is worse than random), `worse_than_random`, and
        `vs_same_steps` with `_low` and `_high`: the metric's difference to the best of everything at the same steps
        (repeated random is one of them).
        Values that depend on an unknown number are NaN: without a training on the full
        data, or without a recorded cost of the selection.
    """
    return Table(tuple(_row(study, arm.name) for arm in study.arms if arm.kind == "subset" and study.of(arm.name)))


def _row(study: Study, name: str) -> dict[str, Any]:
    costs = study.arm(name).selection
    selection = float(sum(costs.values())) if costs else math.nan
    train = study.seconds(name)
    full = study.seconds(study.full.name) if study.full and study.of(study.full.name) else math.nan
    all_kept = study.full is not None and study.arm(name).size == study.full.size
    saved = 0.0 * full if all_kept else full - train  # the same training twice differs only by noise
    judged = judge(study, name)
    whole = [gap for other, gap in judged.against.items() if study.arm(other).kind in ("everything", "full")]
    same = min(whole, key=lambda gap: gap.centre, default=None)  # to the best of them
    ends = (math.nan,) * 3 if same is None else (same.centre, same.low, same.high)
    worse = judged.fewer_examples == "worse"
    pays = saved > 0 and selection >= 0 and not worse
    return {
        "arm": name,
        **{f"{stage}_s": float(costs.get(stage, 0.0)) if costs else math.nan for stage in COUNTED},
        "selection_s": selection,
        "train_s": train,
        "full_train_s": full,
        "saved_per_training_s": saved,
        "net_after_one_s": saved - selection,
        "pays_after": max(1, math.ceil(selection / saved)) if pays else None,
        "worse_than_random": worse,
        **dict(zip(("vs_same_steps", "vs_same_steps_low", "vs_same_steps_high"), ends, strict=True)),
    }


def costs_of(path: str | Path, subset: Subset) -> dict[str, float]:
    """The cost of finding a saved subset, from the records of its run; empty outside a run."""
    run, step = Path(path).parent, Path(path).stem
    if not (run / "run.json").exists():
        return {}
    scored = f"score/{subset.certificate.get('score')}"
    step_by_step = read_json(run / "run.json")["settings"].get("command") == "observe"  # then select includes scoring
    return {
        "plan": recorded_seconds(run, "plan"),
        "observe": recorded_seconds(run, "observe"),
        "score": 0.0 if step_by_step else recorded_seconds(run, scored),
        "select": recorded_seconds(run, f"select/{step}"),
        "veto": recorded_seconds(run, "veto"),
        "search": recorded_seconds(run, "search"),
    }
