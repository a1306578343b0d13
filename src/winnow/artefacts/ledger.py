"""The ledger: the cost of finding a subset, the time saved per training, and when it pays off.

All numbers are seconds of this study's own trainings, averaged over seeds. The cost of finding the subset is complete:
observing, scoring, selecting and, for a tolerance, searching. It includes making the targets that the subset is trained
with, and training the model that made them if it was trained for this purpose. Let s be the seconds to find the subset,
t those of one training on it, and T those of one training on the full data. One training then saves T - t - s net, and
the subset pays off after the smallest number of trainings k >= 1 with k (T - t) >= s.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..core.files import read_json
from ..core.run import recorded_seconds
from .study import Study
from .subset import Subset
from .table import Table

__all__ = ["COUNTED", "STAGES", "costs_of", "ledger"]


STAGES = ("observe", "score", "select", "search")  # the stages of finding a subset
COUNTED = (*STAGES, "targets", "pretrain")  # and everything else that may precede a training


def ledger(study: Study) -> Table:
    """One row per subset of a study.

    Returns
    -------
    Table
        Keys: `arm`, `observe_s`, `score_s`, `select_s`, `search_s`, `targets_s`, `pretrain_s`, `selection_s` (their
        sum), `train_s`, `full_train_s`, `saved_per_training_s`, `net_after_one_s`, and `pays_after`, None if it never
        does or if that is unknown. Values that depend on an unknown number are NaN: without a training on the full
        data, or without a recorded cost of the selection.
    """
    return Table(tuple(_row(study, arm.name) for arm in study.arms if arm.kind == "subset" and study.of(arm.name)))


def _row(study: Study, name: str) -> dict[str, Any]:
    costs = study.arm(name).selection
    selection = float(sum(costs.values())) if costs else math.nan
    train = study.seconds(name)
    full = study.seconds(study.full.name) if study.full and study.of(study.full.name) else math.nan
    saved = full - train
    return {
        "arm": name,
        **{f"{stage}_s": float(costs.get(stage, 0.0)) if costs else math.nan for stage in COUNTED},
        "selection_s": selection,
        "train_s": train,
        "full_train_s": full,
        "saved_per_training_s": saved,
        "net_after_one_s": saved - selection,
        "pays_after": max(1, math.ceil(selection / saved)) if saved > 0 and selection >= 0 else None,
    }


def costs_of(path: str | Path, subset: Subset) -> dict[str, float]:
    """The cost of finding a saved subset, from the records of its run; empty outside a run."""
    run, step = Path(path).parent, Path(path).stem
    if not (run / "run.json").exists():
        return {}
    scored = f"score/{subset.certificate.get('score')}"
    step_by_step = read_json(run / "run.json")["settings"].get("command") == "observe"  # then select includes scoring
    return {
        "observe": recorded_seconds(run, "observe"),
        "score": 0.0 if step_by_step else recorded_seconds(run, scored),
        "select": recorded_seconds(run, f"select/{step}"),
        "search": recorded_seconds(run, "search"),
    }
