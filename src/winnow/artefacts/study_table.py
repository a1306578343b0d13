"""The tables of a study: a short one to read, and one of all figures."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from .class_metrics import WORDS, in_percent
from .intervals import Interval
from .outcome import Arm
from .table import Table

if TYPE_CHECKING:
    from .study import Study

__all__ = ["metric_word", "soft_baseline", "summary", "table"]


def summary(study: Study) -> Table:
    """The table to read: one row per arm and test set, with intervals as text."""
    scale, digits = (100, 1) if in_percent(study.metric) else (1, 3)

    def shown(found: Interval | None, sign: str = "") -> str:
        if found is None:
            return ""
        level = f"{scale * found.centre:{sign}.{digits}f}"
        if math.isnan(found.low):
            return level
        if found.symmetric:
            return f"{level} ± {scale * found.half_width:.{digits}f}"
        return f"{level} ({scale * found.low:{sign}.{digits}f} to {scale * found.high:{sign}.{digits}f})"

    rows = []
    for test in study.tests:
        for arm in (arm for arm in study.arms if study.of(arm.name, test)):
            full = study.full.name if study.full and arm.kind != "full" and study.of(study.full.name, test) else None
            same = _same_steps(study, arm, test)
            row: dict[str, Any] = {"arm": arm.name, "kept": arm.size}
            row |= {"test": test} if len(study.tests) > 1 else {}
            row |= {
                f"{metric_word(study)}{', %' if scale == 100 else ''}": shown(study.interval(arm.name, test)),
                **{f"{name}, %": shown(found) for name, found in study.beside(arm.name, test).items()},
                "against random": shown(study.versus(arm.name, arm.baseline, test), "+") if arm.baseline else "",
                "against same steps": shown(study.versus(arm.name, same, test), "+") if same else "",
                "against full": shown(study.versus(arm.name, full, test), "+") if full else "",
                "training, s": f"{study.seconds(arm.name):.1f}",
            }
            rows.append(row)
    return Table(tuple(rows))


def table(study: Study) -> Table:
    """All figures, as numbers: one row per arm and test set; it prints as `summary`."""
    rows = []
    for test in study.tests:
        for arm in study.arms:
            done = study.of(arm.name, test)
            if not done:
                continue
            got = study.interval(arm.name, test)
            row: dict[str, Any] = {"arm": arm.name, "kept": arm.size, "fraction": arm.keep}
            if len(study.tests) > 1:
                row["test"] = test
            row |= {study.metric: got.centre, "low": got.low, "high": got.high}
            row |= {name.replace(" ", "_").lower(): f1.centre for name, f1 in study.beside(arm.name, test).items()}
            row |= _against(study, "random", arm.name, arm.baseline, test)
            row |= _against(study, "same_steps", arm.name, _same_steps(study, arm, test), test)
            full = study.full
            row |= _against(study, "full", arm.name, full.name if full and arm.kind != "full" else None, test)
            per_class = study.per_class(arm.name, test)
            worst = min((v for v in per_class if not math.isnan(v)), default=math.nan)
            for word in study.metrics[1:]:
                other = study.interval(arm.name, test, word)
                row |= {word: other.centre, f"{word}_low": other.low, f"{word}_high": other.high}
            row |= {
                "worst_class": worst,
                "seeds": got.runs,
                "train_s": study.seconds(arm.name),
                "selection_s": float(sum(arm.selection.values())) if arm.selection else math.nan,
            }
            rows.append(row)
    return Table(tuple(rows), short=partial(summary, study))


def soft_baseline(study: Study, arm: Arm) -> bool:
    """Whether the random subsets that an arm is compared with are trained with soft targets."""
    return arm.baseline is not None and bool(study.arm(arm.baseline).soft)


def metric_word(study: Study) -> str:
    """The metric as tables call it."""
    return study.metric if study.metric == "r2" else WORDS[study.metric]


def _same_steps(study: Study, arm: Arm, test: str) -> str | None:
    """Everything for as many steps as the arm, trained on labels, if it was run and the arm is not everything."""
    names = (one.name for one in study.arms if one.same_steps == arm.size and one.in_plain_passes)
    found = next(names, None)
    return found if found and arm.kind in ("random", "subset") and study.of(found, test) else None


def _against(study: Study, word: str, arm: str, other: str | None, test: str) -> dict[str, Any]:
    if other is None or not study.of(other, test):
        return {f"vs_{word}": math.nan, f"vs_{word}_low": math.nan, f"vs_{word}_high": math.nan}
    gap = study.versus(arm, other, test)
    return {f"vs_{word}": gap.centre, f"vs_{word}_low": gap.low, f"vs_{word}_high": gap.high}
