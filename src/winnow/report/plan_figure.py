"""The figure of a saved plan: forecast accuracy by fraction kept, and what the pilot measured.

Left: the forecast for the full data, one line per policy with 95 % bands. Right: the pilot's random parts and chosen
subsets, and the held-out point as forecast. It reads plain values, as stored in `plan.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import atomic
from .palette import LIGHT
from .svg import WIDTH, blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_plan", "plan_figure"]

STYLES: dict[str, dict[str, Any]] = {
    "auto": {"color": LIGHT["m1"], "linestyle": "-", "marker": "o"},
    "soft random": {"color": LIGHT["m2"], "linestyle": (0, (5, 1)), "marker": "^"},
    "random": {"color": LIGHT["random"], "linestyle": "--", "marker": "s"},
}
OTHER = {"color": LIGHT["m3"], "linestyle": "-.", "marker": "D"}  # a method asked for
NAMES = {"soft random": "random, soft targets"}
SHIFT = {"candidate": 0.94, "soft random": 1.06}  # side by side where sizes are the same


def _style(policy: str) -> dict[str, Any]:
    return STYLES.get("auto" if policy == "candidate" else policy, OTHER)


def draw_plan(about: Mapping[str, Any], path: str | Path) -> Path | None:
    """Write the figure of a plan as PNG; a plan without a forecast has none.

    Parameters
    ----------
    about
        The plan's values.
    path
        The file to write.
    """
    if not about["forecasts"]:
        return None
    figure = plan_figure(about)
    with atomic(path) as part, drawing():
        figure.savefig(part, format="png", dpi=160)
    return Path(path)


def plan_figure(about: Mapping[str, Any]) -> Figure:
    """The figure of a plan with a forecast.

    Parameters
    ----------
    about
        The plan's values.
    """
    with drawing():
        figure = blank(3.4, 1.6 * WIDTH)
        left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])
        _forecast(left, about)
        _pilot(right, about)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=6, handlelength=2.2, columnspacing=1.2)
        return figure


def _forecast(axes: Any, about: Mapping[str, Any]) -> None:
    rows = about["forecasts"]
    full = next(row for row in rows if row["keep"] == 1.0)
    for policy in dict.fromkeys(row["policy"] for row in rows):
        style = _style(policy)
        line = sorted([row for row in rows if row["policy"] == policy and row["keep"] < 1], key=lambda r: r["keep"])
        line.append(full)
        x = np.array([row["keep"] for row in line])
        y, low, high = (100 * np.array([row[key] for row in line]) for key in ("accuracy", "low", "high"))
        if policy in ("random", about["policy"]):  # many overlapping bands would be unreadable
            axes.fill_between(x, low, high, color=style["color"], alpha=0.12, linewidth=0)
        axes.plot(x, y, color=style["color"], linestyle=style["linestyle"], label=NAMES.get(policy, policy))
    keep, expected, interval = about["keep"], about["expected"], about["interval"]
    if keep < 1:
        colour = _style(about["policy"])["color"]
        axes.errorbar(
            [keep],
            [100 * expected],
            yerr=[[100 * (expected - interval[0])], [100 * (interval[1] - expected)]],
            color=colour,
            marker=_style(about["policy"])["marker"],
            markersize=7,
            linestyle="none",
            label=f"recommended, {keep:.0%}",
        )
    level = 100 * full["accuracy"]
    axes.axhline(level, color=LIGHT["full"], linewidth=1.0, label=f"full data, {level:.1f} %")
    _ylim(axes, [100 * row["accuracy"] for row in rows])
    axes.set_xlim(0, 1.0)
    axes.set_xticks(np.linspace(0, 1, 6), [f"{value:.0%}" for value in np.linspace(0, 1, 6)])
    axes.set_xlabel(f"fraction of the {about['pilot']['examples']:,} examples kept")
    axes.set_ylabel("forecast accuracy, %")
    axes.set_title(f"Forecast: {about['trust']}", fontsize=9, color=LIGHT["soft"], loc="left")
    axes.grid(axis="y")


def _pilot(axes: Any, about: Mapping[str, Any]) -> None:
    curve = about["pilot"]["curve"]
    style = STYLES["random"]
    axes.plot(
        [point["size"] for point in curve],
        [100 * point["accuracy"] for point in curve],
        color=style["color"],
        linestyle=style["linestyle"],
        marker=style["marker"],
        markerfacecolor=LIGHT["paper"],
    )
    check = about["checks"][0]
    ends = (100 * check["measured"], 100 * check["forecast"])
    axes.errorbar(
        [check["size"]], [ends[0]], yerr=[200 * check["standard_error"]], color=style["color"], linestyle="none"
    )
    axes.plot(
        [check["size"]],
        [ends[1]],
        color=style["color"],
        marker="x",
        markersize=6,
        markeredgewidth=1.6,
        linestyle="none",
    )
    for arm in about["arms"]:
        chosen = _style(arm["policy"])
        axes.errorbar(
            [SHIFT.get(arm["policy"], 1.0) * arm["size"]],
            [100 * float(np.mean(arm["accuracies"]))],
            yerr=[200 * arm["standard_error"]],
            color=chosen["color"],
            marker=chosen["marker"],
            linestyle="none",
        )
    sizes = [point["size"] for point in curve]
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.margins(x=0.1, y=0.1)
    axes.set_xlabel("training examples in the pilot")
    axes.set_ylabel("accuracy, %")
    axes.set_title("Pilot: measured (markers), forecast (cross)", fontsize=9, color=LIGHT["soft"], loc="left")
    axes.grid(axis="y")


def _ylim(axes: Any, values: list[float]) -> None:
    """Limits that fit the lines; wide bands may be cut off."""
    low, high = min(values), max(values)
    room = 0.15 * max(high - low, 1.0)
    axes.set_ylim(max(0.0, low - room), min(100.0, high + room))
