"""The section on classes: accuracy and kept examples per class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ..artefacts import Interval, Scores, Study, mean
from . import figures
from .metric_units import Units
from .saved_run import SavedRun
from .table_cells import cell, gap_cell, table

__all__ = ["class_section"]


def class_section(saved: SavedRun, study: Study, arms: Sequence[str], main: str | None) -> dict[str, Any] | None:
    """The subsets' effect on each class; None if there are no classes."""
    if not arms or not study.classes or not any(study.per_class(arm) for arm in arms):
        return None
    arm = main or arms[0]
    counts = _counts(saved) if main is not None else ()
    title = f"accuracy per class: {arm}, random and full data"
    balance = [(a.name, a.class_balance) for a in (study.full, study.arm(arm)) if a and a.class_balance is not None]
    return {
        "arm": arm,
        "drawn": 24 if len(study.classes) > 24 else None,
        "svg": Markup(figures.to_svg(figures.per_class(study, arm, counts), title, "c0")),
        "table": _class_table(study, arm, counts),
        "balance": [{"arm": name, "value": f"{value:.2f}"} for name, value in balance],
        "others": _class_gaps(study, arms) if len(arms) > 1 else None,
    }


def _counts(saved: SavedRun) -> Sequence[tuple[str, int, int]]:
    """Kept and total examples per class, from the gallery or else from scores that hold the labels."""
    if saved.gallery is not None and saved.gallery.counts:
        return saved.gallery.counts
    for score in saved.scores:
        if saved.subset is not None and score.task == "classification" and score.labels is not None:
            return _counts_from(score, np.isin(score.ids, saved.subset.ids))
    return ()


def _counts_from(score: Scores, kept: Any) -> Sequence[tuple[str, int, int]]:
    labels = np.asarray(score.labels, dtype=np.int64)
    held = np.bincount(labels[kept], minlength=len(score.classes)).tolist()
    total = np.bincount(labels, minlength=len(score.classes)).tolist()
    return tuple(zip(score.classes, held, total, strict=True))


def _class_table(study: Study, arm: str, counts: Sequence[tuple[str, int, int]]) -> dict[str, Any]:
    units = Units.of(study)
    baseline, full = study.arm(arm).baseline, study.full
    columns = [study.per_class(other) if other else () for other in (full.name if full else None, baseline, arm)]
    held = {name: (k, total) for name, k, total in counts}
    rows = []
    for number, name in enumerate(study.classes):
        kept = held.get(name)
        levels = [
            cell(f"{values[number] * 100:.1f}" if number < len(values) and not math.isnan(values[number]) else "")
            for values in columns
        ]
        rows.append(
            [
                cell(name),
                cell(f"{kept[0]:,}" if kept else "", f"of {kept[1]:,}" if kept else ""),
                *levels,
                gap_cell(units, _class_gap(study, arm, number), judge=True),
            ]
        )
    return table(["class", "kept", "full, %", "random, %", f"{arm}, %", "against random"], rows)


def _class_gap(study: Study, arm: str, number: int) -> Interval | None:
    """Paired difference to random on one class."""
    baseline = study.arm(arm).baseline
    if baseline is None:
        return None
    ours, theirs = study.of(arm), study.of(baseline)
    gaps = [
        ours[seed].per_class[number] - theirs[seed].per_class[number]
        for seed in sorted(set(ours) & set(theirs))
        if number < len(ours[seed].per_class)
    ]
    return mean(gaps) if gaps and not any(map(math.isnan, gaps)) else None


def _class_gaps(study: Study, arms: Sequence[str]) -> dict[str, Any]:
    units = Units.of(study)
    rows = [
        [cell(name), *(gap_cell(units, _class_gap(study, arm, number), judge=True) for arm in arms)]
        for number, name in enumerate(study.classes)
    ]
    return table(["class", *arms], rows)
