"""The figure of a subset's effect on each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..artefacts import Study
from .metric_units import name_for_axis
from .palette import LIGHT
from .svg import WIDTH, drawing

__all__ = ["per_class"]


def per_class(
    study: Study, arm: str, counts: Sequence[tuple[str, int, int]] = (), test: str | None = None, most: int = 24
) -> Figure:
    """Accuracy per class for the arm, its random baseline and the full data, next to the fraction kept.

    Parameters
    ----------
    study
        A study of classification.
    arm
        The arm to show.
    counts
        (name, kept, total) for each class, if known.
    test
        Which test set; the first one if not given.
    most
        The largest number of classes to show; of more, those that differ most from random.
    """
    lines = _class_lines(study, arm, test)
    order = _by_effect(lines, most)
    names = [study.classes[number] if number < len(study.classes) else str(number) for number in order]
    share = {name: (held, total) for name, held, total in counts}
    shown = bool(share) and all(name in share for name in names)
    with drawing():
        figure = Figure(figsize=(WIDTH, 0.9 + 0.21 * len(order)), layout="constrained")
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
        axes.set_xlabel("accuracy, %")
        axes.margins(x=0.08)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="both")
        axes.spines["left"].set_visible(False)
        if shown:
            _kept_bars(figure.add_subplot(grid[0, 1], sharey=axes), y, [share[name] for name in names])
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


def _kept_bars(axes: Any, y: NDArray[np.int64], share: Sequence[tuple[int, int]]) -> None:
    fraction = np.array([held / total if total else 0.0 for held, total in share]) * 100
    bars = axes.barh(y, fraction, height=0.55, color=LIGHT["dropped"])
    axes.bar_label(bars, [f"{held:,}" for held, _ in share], padding=3, fontsize=8, color=LIGHT["soft"])
    axes.tick_params(axis="y", labelleft=False)
    axes.set_xlim(0, max(float(fraction.max(initial=1.0)) * 1.45, 1.0))
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel("kept per class, %")
    axes.spines["left"].set_visible(False)
