"""The figure of a data check: findings per kind, and how classes are confused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.issues import Issues
from ..artefacts.issues_text import NAMES
from .metric_units import name_for_axis
from .palette import LIGHT
from .svg import WIDTH, add_cell, blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST_CLASSES", "confusion_square", "drawn_classes", "kinds_bars"]

MOST_CLASSES = 20  # classes drawn
NUMBERED = 12  # up to so many classes, every cell shows its number
DARKEST = 0.85  # opacity of the largest value


def kinds_bars(issues: Issues) -> Figure:
    """One bar per kind of finding.

    Parameters
    ----------
    issues
        At least one of them found.
    """
    counts = issues.counts()
    names = [NAMES[kind][1].split(" (")[0] for kind in counts]
    with drawing():
        figure = blank(0.6 + 0.34 * len(counts))
        axes = figure.add_subplot()
        places = np.arange(len(counts))
        # few of one kind and thousands of another are both to be seen
        lengths = np.sqrt(list(counts.values()))
        axes.barh(places, lengths, height=0.62, color=LIGHT["m1"])
        for place, length, count in zip(places, lengths, counts.values(), strict=True):
            axes.annotate(
                f"{count:,}", (length, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
            )
        axes.set_yticks(places, names)
        axes.tick_params(labelcolor=LIGHT["ink"])
        axes.set_xticks([])
        axes.set_xlim(0, float(lengths.max()) * 1.18)
        axes.set_ylim(len(counts) - 0.5, -0.5)
        axes.spines["bottom"].set_visible(False)
        return figure


def drawn_classes(confusion: NDArray[np.float64]) -> list[int]:
    """The classes to draw, in their order: all, or of many those that are confused most."""
    if len(confusion) <= MOST_CLASSES:
        return list(range(len(confusion)))
    wrong = confusion - np.diag(np.diag(confusion))
    strongest = np.argsort(-np.maximum(wrong.max(axis=0), wrong.max(axis=1)), kind="stable")
    return sorted(strongest[:MOST_CLASSES].tolist())


def confusion_square(issues: Issues) -> Figure:
    """The estimated share of each true class (row) that was given each other label (column), in per cent.

    Parameters
    ----------
    issues
        With a confusion.
    """
    confusion = np.asarray(issues.confusion)
    shown = drawn_classes(confusion)
    part = confusion[np.ix_(shown, shown)]
    wrong = part - np.diag(np.diag(part))
    largest = float(wrong.max()) or 1.0
    side = max(0.16, 0.36 - 0.01 * len(shown)) * len(shown)
    with drawing():
        figure = blank(min(WIDTH, 1.5 + side))
        axes = figure.add_subplot()
        for row in range(len(shown)):
            for column in range(len(shown)):
                _cell(axes, row, column, part, largest)
        names = [name_for_axis(issues.classes[number]) for number in shown]
        places = range(len(names))
        axes.set_xticks(places, names, rotation=90 if len(names) > 4 else 0)
        axes.set_yticks(places, names)
        axes.set_xlabel("given label")
        axes.set_ylabel("true class")
        axes.tick_params(labelsize=8, labelcolor=LIGHT["ink"])
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(len(names) - 0.5, -0.5)
        for edge in ("left", "bottom"):
            axes.spines[edge].set_visible(False)
        return figure


def _cell(axes: Any, row: int, column: int, part: NDArray[np.float64], largest: float) -> None:
    """One cell. The diagonal is grey: right labels would outshine all others."""
    value, own = float(part[row, column]), row == column
    colour, alpha = (LIGHT["dropped"], 0.35) if own else (LIGHT["m2"], DARKEST * value / largest)
    add_cell(axes, row, column, colour, alpha)
    if len(part) <= NUMBERED and (own or value >= 0.0005):
        text = f"{value * 100:.1f}" if value < 0.0995 else f"{value * 100:.0f}"
        axes.annotate(text, (column, row), ha="center", va="center", fontsize=7.5)
