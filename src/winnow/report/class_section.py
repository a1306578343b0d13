"""The section on classes or labels: the metric and kept examples for each, as a table and as a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ..artefacts import Interval, Scores, Study, mean
from .metric_units import Units, name_for_axis
from .palette import LIGHT
from .saved_run import SavedRun
from .svg import blank, drawing, to_svg
from .table_cells import cell, gap_cell, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["class_section", "per_class"]


def class_section(saved: SavedRun, study: Study, arms: Sequence[str], main: str | None) -> dict[str, Any] | None:
    """The subsets' effect on each class; None if there are no classes."""
    if not arms or not study.classes or not any(study.per_class(arm) for arm in arms):
        return None
    arm = main or arms[0]
    counts = _counts(saved) if main is not None else ()
    units = Units.of(study)
    title = f"{units.word} per {units.per}: {arm}, random and full data"
    balance = [(a.name, a.class_balance) for a in (study.full, study.arm(arm)) if a and a.class_balance is not None]
    return {
        "arm": arm,
        "one": units.per,
        "several": "classes" if units.per == "class" else f"{units.per}s",
        "drawn": 24 if len(study.classes) > 24 else None,
        "svg": Markup(to_svg(per_class(study, arm, counts), title, "c0")),
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
    units = Units.named("accuracy")
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
    return table([units.per, "kept", "full, %", "random, %", f"{arm}, %", "against random"], rows)


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
    units = Units.named("accuracy")
    rows = [
        [cell(name), *(gap_cell(units, _class_gap(study, arm, number), judge=True) for arm in arms)]
        for number, name in enumerate(study.classes)
    ]
    return table([units.per, *arms], rows)


def per_class(
    study: Study, arm: str, counts: Sequence[tuple[str, int, int]] = (), test: str | None = None, most: int = 24
) -> Figure:
    """The metric per class or label for the arm, its random baseline and the full data, next to the fraction kept.

    Parameters
    ----------
    study
        A study of classification, or of several labels per example.
    arm
        The arm to show.
    counts
        (name, kept, total) for each class, if known.
    test
        Which test set; the first one if not given.
    most
        The largest number of classes to show; of more, those that differ most from random.
    """
    lines, per = _class_lines(study, arm, test), Units.of(study).per
    order = _by_effect(lines, most)
    names = [study.classes[number] if number < len(study.classes) else str(number) for number in order]
    share = {name: (held, total) for name, held, total in counts}
    shown = bool(share) and all(name in share for name in names)
    with drawing():
        figure = blank(0.9 + 0.21 * len(order))
        grid = figure.add_gridspec(1, 2, width_ratios=(2.4, 1)) if shown else figure.add_gridspec(1, 1)
        axes = figure.add_subplot(grid[0, 0])
        y = np.arange(len(order))[::-1]
        ours, base = lines[arm][order] * 100, lines.get("random", lines[arm])[order] * 100
        axes.hlines(y, np.fmin(ours, base), np.fmax(ours, base), color=LIGHT["m1"], alpha=0.45, linewidth=1.6)
        if "full" in lines:
            axes.plot(
                lines["full"][order] * 100,
                y,
                linestyle="none",
                marker="|",
                markersize=9,
                markeredgewidth=1.8,
                color=LIGHT["full"],
                label="full",
            )
        if "random" in lines:
            axes.plot(
                base,
                y,
                linestyle="none",
                marker="s",
                color=LIGHT["random"],
                label="random",
                markerfacecolor=LIGHT["paper"],
            )
        axes.plot(ours, y, linestyle="none", marker="o", color=LIGHT["m1"], label=name_for_axis(arm))
        axes.set_yticks(y, [name_for_axis(name) for name in names])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.set_ylim(-0.7, len(order) - 0.3)
        axes.set_xlabel(Units.of(study).axis)
        axes.margins(x=0.08)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="both")
        axes.spines["left"].set_visible(False)
        if shown:
            _kept_bars(figure.add_subplot(grid[0, 1], sharey=axes), y, [share[name] for name in names], per)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=3, handlelength=1.2)
        return figure


def _class_lines(study: Study, arm: str, test: str | None) -> dict[str, NDArray[np.float64]]:
    lines = {arm: np.array(study.per_class(arm, test))}
    baseline, full = study.arm(arm).baseline, study.full
    if baseline is not None and study.of(baseline, test):
        lines["random"] = np.array(study.per_class(baseline, test))
    if full is not None and study.of(full.name, test):
        lines["full"] = np.array(study.per_class(full.name, test))
    return lines


def _by_effect(lines: Mapping[str, NDArray[np.float64]], most: int) -> NDArray[np.int64]:
    """Classes from the largest gain to the largest loss against random; of too many, the middle is left out."""
    ours = next(iter(lines.values()))
    effect = ours - lines.get("random", lines.get("full", np.zeros_like(ours)))
    known = np.flatnonzero(~np.isnan(effect))
    order = known[np.argsort(-effect[known], kind="stable")]
    return order if order.size <= most else np.concatenate([order[: most // 2], order[-(most - most // 2) :]])


def _kept_bars(axes: Any, y: NDArray[np.int64], share: Sequence[tuple[int, int]], per: str) -> None:
    fraction = np.array([held / total if total else 0.0 for held, total in share]) * 100
    bars = axes.barh(y, fraction, height=0.55, color=LIGHT["dropped"])
    axes.bar_label(bars, [f"{held:,}" for held, _ in share], padding=3, fontsize=8, color=LIGHT["soft"])
    axes.tick_params(axis="y", labelleft=False)
    axes.set_xlim(0, max(float(fraction.max(initial=1.0)) * 1.45, 1.0))
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel(f"kept per {per}, %")
    axes.spines["left"].set_visible(False)
