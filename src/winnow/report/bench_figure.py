"""The figure of a benchmark: the mean difference of each method to random, with labels and with soft targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .method_pairs import MethodPair
from .palette import LIGHT
from .svg import blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST_METHODS", "ranking_figure"]

MOST_METHODS = 80  # rows drawn
MARKS = {"labels": ("o", "m1", -0.17), "soft": ("s", "m2", 0.17)}  # shape, colour, and how far off the row's middle
NAMES = {"labels": "labels", "soft": "soft targets"}
ROOM = 3.0  # the axis ends at so many times the median distance to zero, where what lies outside is written


def ranking_figure(pairs: Sequence[MethodPair]) -> Figure:
    """One row per method, best first; markers are filled where a difference holds after correction.

    A few methods far below the others would squeeze all the rest into a corner, so that the axis ends before them and
    an arrow with the number stands in their rows.

    Parameters
    ----------
    pairs
        From `method_pairs`.
    """
    shown = list(pairs[:MOST_METHODS])
    with drawing():
        figure = blank(0.8 + 0.22 * len(shown))
        axes = figure.add_subplot()
        axes.axvline(0, color=LIGHT["soft"], linewidth=0.8)
        low, high = _ends(shown)
        for kind, (marker, tint, aside) in MARKS.items():
            axes.plot([], [], marker, color=LIGHT[tint], markersize=4.5, label=NAMES[kind])
            for place, pair in enumerate(shown):
                row = pair.labels if kind == "labels" else pair.soft
                if row is None:
                    continue
                colour, gap = LIGHT[tint], 100 * row.gap
                if gap < low:
                    text = f"\N{LEFTWARDS ARROW} {gap:+.1f}"
                    at = 0.01 if kind == "labels" else 0.13
                    axes.text(
                        at,
                        place,
                        text,
                        transform=axes.get_yaxis_transform(),
                        color=colour,
                        fontsize=6.5,
                        va="center",
                    )
                    continue
                axes.errorbar(
                    gap,
                    place + aside,
                    xerr=0.0 if math.isnan(row.high) else 100 * (row.high - row.gap),
                    color=colour,
                    marker=marker,
                    markerfacecolor=colour if row.real else LIGHT["paper"],
                    markersize=4,
                    linewidth=1.1,
                )
        names = [f"{pair.method} (free)" if pair.free else pair.method for pair in shown]
        axes.set_yticks(np.arange(len(shown)), names, fontsize=7.5)
        axes.tick_params(labelcolor=LIGHT["ink"])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(low, high)
        axes.set_xlabel("points over random of the same size")
        axes.grid(axis="x")
        axes.legend(frameon=False, fontsize=7.5, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
        return figure


def _ends(shown: Sequence[MethodPair]) -> tuple[float, float]:
    """The ends of the axis: all that is good, and what is bad as far as it lies with the others."""
    rows = [row for pair in shown for row in pair.both]
    reach = [0.0 if math.isnan(row.high) else row.high - row.gap for row in rows]
    tops = [100 * (row.gap + half) for row, half in zip(rows, reach, strict=True)]
    bottoms = [100 * (row.gap - half) for row, half in zip(rows, reach, strict=True)]
    if not rows:
        return -1.0, 1.0
    usual = ROOM * float(np.median(np.abs([100 * row.gap for row in rows])))
    high = max([*tops, 0.0])
    low = max(min(bottoms), -max(usual, high))
    edge = 0.05 * max(high - low, 0.1)
    return min(low, 0.0) - edge, high + edge
