"""The figure of a score: how its values are distributed, and which of them are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Subset
from .metric_units import name_for_axis
from .palette import LIGHT
from .svg import blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["score_histogram"]

BINS = 40


def score_histogram(scores: Scores, subset: Subset | None = None) -> Figure:
    """Histogram of the scores, with the kept part of each bar.

    Parameters
    ----------
    scores
        The scores; higher is harder.
    subset
        The kept examples; without it the bars are not split.
    """
    edges, beyond = _edges(scores.values)
    values = np.clip(scores.values, edges[0], edges[-1])
    kept = np.ones(len(scores), dtype=bool) if subset is None else np.isin(scores.ids, subset.ids)
    held, _ = np.histogram(values[kept], edges)
    left, _ = np.histogram(values[~kept], edges)
    with drawing():
        figure = blank(2.6)
        axes = figure.add_subplot()
        width, gap = np.diff(edges), 0.92
        axes.bar(
            edges[:-1],
            held,
            width * gap,
            align="edge",
            color=LIGHT["m1"],
            label="all" if subset is None else f"kept ({int(kept.sum()):,})",
        )
        if subset is not None:
            axes.bar(
                edges[:-1],
                left,
                width * gap,
                bottom=held,
                align="edge",
                color=LIGHT["dropped"],
                label=f"dropped ({int((~kept).sum()):,})",
            )
            figure.legend(
                *axes.get_legend_handles_labels(),
                loc="outside upper left",
                ncols=2,
                handlelength=1.0,
                handleheight=0.9,
            )
        axes.set_xlabel(
            f"easier  \N{LEFTWARDS ARROW}  {name_for_axis(scores.name)}  \N{RIGHTWARDS ARROW}  harder"
            + ("   (last bar: all larger values)" if beyond else "")
        )
        axes.set_ylabel("examples")
        axes.grid(axis="y")
        axes.locator_params(axis="y", nbins=4, integer=True)
        axes.margins(x=0.01)
        return figure


def _edges(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Edges of the bars: one bar per whole number for counts, otherwise equal widths without a long, empty tail."""
    low, high = float(values.min()), float(values.max())
    if high - low < BINS and bool(np.all(values == np.round(values))):
        return np.arange(low - 0.5, high + 1.0), False
    if high == low:
        return np.array([low - 0.5, low + 0.5]), False
    ordinary = float(np.quantile(values, 0.995))
    beyond = high - low > 3 * (ordinary - low) > 0
    return np.linspace(low, ordinary if beyond else high, BINS + 1), beyond
