"""The figure of a benchmark: the mean difference of each method to random, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..artefacts.bench_record import Standing
from .palette import LIGHT
from .svg import blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST_METHODS", "ranking_figure"]

MOST_METHODS = 60  # rows drawn


def ranking_figure(ranked: Sequence[Standing]) -> Figure:
    """One row per method, best first; what is free is drawn open and grey.

    Parameters
    ----------
    ranked
        The ranking of a record.
    """
    shown = list(ranked[:MOST_METHODS])
    with drawing():
        figure = blank(0.7 + 0.2 * len(shown))
        axes = figure.add_subplot()
        axes.axvline(0, color=LIGHT["soft"], linewidth=0.8)
        for place, row in enumerate(shown):
            colour = LIGHT["random"] if row.free else LIGHT["m1"]
            reach = 0.0 if math.isnan(row.high) else 100 * (row.high - row.gap)
            axes.errorbar(
                100 * row.gap,
                place,
                xerr=reach,
                color=colour,
                marker="s" if row.free else "o",
                markerfacecolor=LIGHT["paper"] if row.free or not row.real else colour,
                markersize=4.5,
                linewidth=1.2,
            )
        axes.set_yticks(np.arange(len(shown)), [row.name for row in shown], fontsize=7.5)
        axes.tick_params(labelcolor=LIGHT["ink"])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlabel("points over random of the same size")
        axes.grid(axis="x")
        return figure
