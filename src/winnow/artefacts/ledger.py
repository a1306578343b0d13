"""The ledger: what a subset cost to find, what it saves each time it is trained on, and when it pays.

All in seconds of this study's own trainings, mean over seeds. Finding the subset is counted in full:
observing, scoring, selecting and, for a tolerance, searching; so is making the targets that it is trained with, and
training the model that made them where it was trained for this. With s the seconds to find it, t those of one
training on it and T those of one training on everything, one training nets T - t - s, and it pays after the
smallest whole number of trainings k, one or more, with k (T - t) >= s.
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


STAGES = ("observe", "score", "select", "search")  # what finding a subset is made of
COUNTED = (*STAGES, "targets", "pretrain")  # and all that may be paid before a training


def ledger(study: Study) -> Table:
    """One row for each subset of a study.

    Returns
    -------
    Table
        Keys: `arm`, `observe_s`, `score_s`, `select_s`, `search_s`, `targets_s`, `pretrain_s`, `selection_s` (their
        sum), `train_s`, `full_train_s`, `saved_per_training_s`, `net_after_one_s`, and `pays_after`, None where it
        never does or that is not known. Where the full data was not trained on, what depends on it is NaN; where it is
        not known what the subset cost to find, so is what depends on that.
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
    """What a saved subset cost to find, from the records of the run it lies in; empty outside of a run."""
    run, step = Path(path).parent, Path(path).stem
    if not (run / "run.json").exists():
        return {}
    scored = f"score/{subset.certificate.get('score')}"
    step_by_step = read_json(run / "run.json")["settings"].get("command") == "observe"  # select then scores itself
    return {
        "observe": recorded_seconds(run, "observe"),
        "score": 0.0 if step_by_step else recorded_seconds(run, scored),
        "select": recorded_seconds(run, f"select/{step}"),
        "search": recorded_seconds(run, "search"),
    }
