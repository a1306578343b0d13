"""The report's figures, each a pure function from artefacts to a matplotlib figure.

Figures use matplotlib's object interface only (no pyplot), so they need no global state and no window system. They are
sized for a column of about 360 points, which is legible on a phone. `svg.to_svg` embeds them in a page;
`figure.savefig("x.png")` writes a file. Full data, random and the methods differ in marker and line style as well as
in colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..artefacts import Interval, Study
from ..artefacts.free_alternatives import is_random
from ..artefacts.study import Arm
from ..core.units import seconds_text
from .metric_units import Units, method_of, name_for_axis
from .palette import LIGHT, RANDOM, method_style, name_at, spread
from .score_histogram import score_histogram
from .sentences import relabelling, searching
from .svg import blank, drawing, to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "accuracy_against_fraction",
    "arms_side_by_side",
    "at_one_fraction",
    "ledger_bar",
    "score_histogram",
    "shows_seeds",
    "to_svg",
]


def accuracy_against_fraction(study: Study, test: str | None = None) -> Figure:
    """The metric by fraction kept: one line per method, 95 % intervals over seeds, faint dots for single seeds.

    Parameters
    ----------
    study
        Arms called `method@fraction` are joined by method.
    test
        Which test set; the first one if not given.
    """
    units = Units.of(study)
    groups = _methods(study, test)
    with drawing():
        figure = blank(3.2 if len(groups) <= 3 else 4.2)
        axes = figure.add_subplot()
        full = study.full
        if full is not None and study.of(full.name, test):
            _full_band(axes, study.interval(full.name, test), units)
        labels: list[tuple[str, str, float, float]] = []
        crowd = len(groups)
        spread = min(0.03, 0.06 / max(crowd, 1))
        number = 0
        for place, (method, arms) in enumerate(groups.items()):
            style = RANDOM
            if arms[0].kind != "random":
                style, number = method_style(number), number + 1
            shift = (place - (crowd - 1) / 2) * spread
            end = _method_line(axes, study, arms, test, units, shift, style)
            labels.append((method + (", same steps" if arms[0].same_steps is not None else ""), style["color"], *end))
        axes.set_xlim(0, 1.0)
        axes.margins(y=0.12)
        axes.set_xticks(np.linspace(0, 1, 6), [f"{value:.0%}" for value in np.linspace(0, 1, 6)])
        steps = any(arm.same_steps is not None for arms in groups.values() for arm in arms)
        axes.set_xlabel("fraction of the training data kept" + (" (everything: of its steps)" if steps else ""))
        axes.set_ylabel(units.axis)
        axes.grid(axis="y")
        if len(labels) <= 3 and max((x for *_, x, _ in labels), default=0.0) <= 0.78:
            _direct_labels(axes, labels)
        elif labels:
            figure.legend(
                *axes.get_legend_handles_labels(),
                loc="outside upper left",
                ncols=3,
                handlelength=2.6,
                columnspacing=1.4,
            )
        return figure


def at_one_fraction(study: Study, test: str | None = None) -> bool:
    """Whether all arms but the full data have one size or number of steps, so that fractions need no axis."""
    places = {round(_place(arm), 6) for arms in _methods(study, test).values() for arm in arms}
    return len(places) == 1 and len(_methods(study, test)) > 1


def arms_side_by_side(study: Study, test: str | None = None) -> Figure:
    """The metric of every arm at one fraction, best first, with 95 % intervals; the chosen subset stands out.

    Parameters
    ----------
    study
        Its arms have one fraction.
    test
        Which test set; the first one if not given.
    """
    units, full = Units.of(study), study.full
    arms = [arm for arms in _methods(study, test).values() for arm in arms]
    arms.sort(key=lambda arm: study.interval(arm.name, test).centre)
    with drawing():
        figure = blank(0.9 + 0.32 * len(arms))
        axes = figure.add_subplot()
        if full is not None and study.of(full.name, test):
            got = study.interval(full.name, test)
            axes.axvline(got.centre * units.scale, color=LIGHT["full"], linewidth=1.2)
            axes.set_title(f"line: everything in full, {units.level(got.centre)}", fontsize=8.5, loc="right")
        for row, arm in enumerate(arms):
            got = study.interval(arm.name, test)
            chosen = arm.kind == "subset" and not is_random(study, arm.name)
            style = method_style(0) if chosen else {**RANDOM, "marker": "o" if arm.same_steps else "s"}
            half = 0.0 if math.isnan(got.low) else got.half_width
            centre = got.centre * units.scale
            axes.errorbar(centre, row, xerr=half * units.scale, **{**style, "linestyle": "none"}, elinewidth=1.6)
            axes.annotate(
                units.level(got.centre),
                (centre, row),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=style["color"],
            )
        axes.set_yticks(range(len(arms)), [name_for_axis(_free_name(study, arm)) for arm in arms])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.set_ylim(-0.6, len(arms) - 0.3)
        axes.margins(x=0.08)
        axes.set_xlabel(units.axis)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        return figure


def _free_name(study: Study, arm: Arm) -> str:
    """What an arm is, for people."""
    soft = " + soft" if arm.soft else ""
    if arm.repeated:
        return f"repeated random{soft}"
    if arm.dynamic:
        return f"dynamic sampling{soft}"
    if arm.same_steps is not None:
        return f"everything{soft or ', same steps'}"
    return f"random{soft}" if is_random(study, arm.name) else method_of(arm.name)


def shows_seeds(study: Study, test: str | None = None) -> bool:
    """Whether the figure has room to show single seeds."""
    return len(_methods(study, test)) <= 3 and any(len(study.of(arm.name, test)) > 1 for arm in study.arms)


def _methods(study: Study, test: str | None) -> dict[str, list[Arm]]:
    """Arms that were run, by method: in the study's order with random last, fractions ascending."""
    groups: dict[str, list[Arm]] = {}
    for arm in sorted(study.arms, key=lambda arm: arm.kind == "random"):
        if arm.kind != "full" and study.of(arm.name, test):
            key = "random" if arm.kind == "random" else method_of(arm.name)
            groups.setdefault(key, []).append(arm)
    return {method: sorted(arms, key=_place) for method, arms in groups.items()}


def _place(arm: Arm) -> float:
    """Where an arm is drawn: at its fraction, and everything at the fraction whose steps it takes."""
    return arm.keep if arm.same_steps is None else arm.keep * arm.same_steps / arm.size


def _full_band(axes: Any, got: Interval, units: Units) -> None:
    if not math.isnan(got.low):
        axes.axhspan(got.low * units.scale, got.high * units.scale, color=LIGHT["full"], alpha=0.12, linewidth=0)
    axes.axhline(got.centre * units.scale, color=LIGHT["full"], linewidth=1.2)
    axes.annotate(
        f"full data, {units.level(got.centre)}",
        (0.01, got.centre * units.scale),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=8.5,
        color=LIGHT["full"],
        va="bottom",
    )


def _method_line(
    axes: Any,
    study: Study,
    arms: Sequence[Arm],
    test: str | None,
    units: Units,
    shift: float,
    style: Mapping[str, Any],
) -> tuple[float, float]:
    """Draw one method and return the end of its line, for the label."""
    x = np.array([_place(arm) for arm in arms]) + shift
    got = [study.interval(arm.name, test) for arm in arms]
    centre = np.array([g.centre for g in got]) * units.scale
    half = np.array([0.0 if math.isnan(g.low) else g.half_width for g in got]) * units.scale
    for place, arm in zip(x, arms if shows_seeds(study, test) else [], strict=False):
        seeds = [o.value * units.scale for o in study.of(arm.name, test).values()]
        axes.plot(
            np.full(len(seeds), place - 0.012),
            seeds,
            linestyle="none",
            marker="o",
            markersize=3,
            color=style["color"],
            alpha=0.45,
            markeredgewidth=0,
        )
    name = "random" if arms[0].kind == "random" else name_for_axis(method_of(arms[0].name))
    name += ", same steps" if arms[0].same_steps is not None else ""
    axes.errorbar(
        x,
        centre,
        yerr=half,
        elinewidth=1.6,
        markeredgecolor=style["color"],
        label=name,
        **{"linewidth": 1.4, **style},
    )
    return float(x[-1]), float(centre[-1])


def _direct_labels(axes: Any, labels: Sequence[tuple[str, str, float, float]]) -> None:
    """Names to the right of the lines' ends, moved apart if they would overlap."""
    low, high = axes.get_ylim()
    gap = (high - low) * 0.075
    ordered = sorted(labels, key=lambda label: label[3])
    heights = spread([y for *_, y in ordered], gap, high - gap / 2)
    for (name, color, x, _), y in zip(ordered, heights, strict=True):
        right = max(end for *_, end, _ in labels if abs(end - x) < 0.1)  # clear of nearby markers
        name_at(axes, name_for_axis(name), color, (right, y), 9)


def ledger_bar(rows: Iterable[Mapping[str, Any]]) -> Figure:
    """Seconds until the end of the first training: one bar for the full data, one per subset including selection.

    Parameters
    ----------
    rows
        The rows of `artefacts.ledger.ledger`.
    """
    found = list(rows)
    parts = (
        ("observe_s", "observing", "m2", ""),
        ("score_s", "scoring", "m5", "//"),
        ("select_s", "selecting", "m4", ".."),
        ("search_s", "planning, veto, searching", "m3", "xx"),
        ("relabel_s", "relabelling", "m2", "\\\\"),
        ("train_s", "training", "m1", ""),
    )
    found = [{**row, "search_s": searching(row), "relabel_s": relabelling(row)} for row in found]
    bars = [(str(row["arm"]), [_seconds(row, key) for key, *_ in parts]) for row in found]
    full = next((s for s in (_seconds(row, "full_train_s") for row in found) if s > 0), 0.0)
    if full:
        bars.insert(0, ("full data", [*[0.0] * (len(parts) - 1), full]))
    with drawing():
        figure = blank(0.95 + 0.3 * len(bars))
        axes = figure.add_subplot()
        y = np.arange(len(bars))[::-1]
        start = np.zeros(len(bars))
        drawn: list[Any] = []
        for column, (_, word, color, hatch) in enumerate(parts):
            length = np.array([values[column] for _, values in bars])
            if length.any():
                how: dict[str, Any] = {"color": LIGHT[color], "hatch": hatch, "label": word}
                drawn.append(axes.barh(y, length, left=start, height=0.55, linewidth=0, **how))
            start += length
        if drawn:
            axes.bar_label(drawn[-1], [seconds_text(end) for end in start], padding=4, fontsize=8.5, color=LIGHT["ink"])
        axes.set_yticks(y, [name_for_axis(name) for name, _ in bars])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.set_xlim(0, max(float(start.max(initial=0.0)) * 1.16, 1e-9))
        axes.set_xlabel("seconds until the end of the first training")
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=5,
            handlelength=1.0,
            handleheight=0.9,
            columnspacing=1.2,
        )
        return figure


def _seconds(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) and value > 0 else 0.0
