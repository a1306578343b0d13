"""The figure of how classes relate: a matrix of mean cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..artefacts.explanation import DatasetExplanation
from ..core.units import MINUS
from .metric_units import name_for_axis
from .palette import LIGHT
from .svg import WIDTH, drawing

__all__ = ["MOST", "drawn_classes", "relations_square"]

MOST = 20  # classes drawn
NUMBERED = 12  # up to so many classes, every cell shows its number
DARKEST = 0.9  # opacity of the largest value


def drawn_classes(about: DatasetExplanation) -> list[str]:
    """The classes to draw, in their order: all, or of many those in the strongest pairs."""
    if len(about.classes) <= MOST:
        return list(about.classes)
    chosen: dict[str, None] = {}
    for pair in about.between:
        for name in (pair.one, pair.other):
            if len(chosen) < MOST:
                chosen[name] = None
    return [name for name in about.classes if name in chosen]


def relations_square(about: DatasetExplanation) -> Figure:
    """Mean cosines between classes: blue if they are learned together, orange if against each other.

    Parameters
    ----------
    about
        The explanation of the data set.
    """
    names = drawn_classes(about)
    known = {(pair.one, pair.other): pair.cosine for pair in about.relations if pair.pairs}
    known |= {(pair.other, pair.one): pair.cosine for pair in about.relations if pair.pairs}
    largest = max((abs(value) for value in known.values()), default=0.0) or 1.0
    side = max(0.16, 0.36 - 0.01 * len(names)) * len(names)
    with drawing():
        figure = Figure(figsize=(WIDTH, min(WIDTH, 1.3 + side)), layout="constrained")
        axes = figure.add_subplot()
        for row, one in enumerate(names):
            for column, other in enumerate(names):
                value = known.get((one, other))
                if value is None:
                    continue
                colour = LIGHT["m1"] if value >= 0 else LIGHT["m2"]
                cell = (column - 0.48, row - 0.48)
                axes.add_patch(
                    Rectangle(
                        cell, 0.96, 0.96, facecolor=colour, edgecolor="none", alpha=DARKEST * abs(value) / largest
                    )
                )
                if len(names) <= NUMBERED:
                    axes.annotate(_short(value), (column, row), ha="center", va="center", fontsize=7.5)
        _label(axes, names)
        return figure


def _label(axes: Any, names: Sequence[str]) -> None:
    places = range(len(names))
    short = [name_for_axis(name) for name in names]
    axes.set_xticks(places, short, rotation=90 if len(names) > 4 else 0)
    axes.set_yticks(places, short)
    axes.tick_params(labelsize=8, labelcolor=LIGHT["ink"])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _short(value: float) -> str:
    """A cosine without its leading zero."""
    text = f"{abs(value):.2f}"
    return (MINUS if value < 0 else "") + (text if text.startswith("1") else text[1:])
