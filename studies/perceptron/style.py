"""What the study's figures share: the house's colours, axes with words on them, points with error bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from winnow.report.palette import LIGHT

from .simulations import Timed

WIDTH = 7.2
ALPHA, ERROR = "kept examples per dimension", "test error"
INK, SOFT, FULL, RANDOM = LIGHT["ink"], LIGHT["soft"], LIGHT["full"], LIGHT["random"]
LOOKS = {  # fraction kept -> colour, marker
    1.0: (FULL, "o"),
    0.5: (LIGHT["m1"], "s"),
    0.2: (LIGHT["m2"], "D"),
    0.1: (LIGHT["m3"], "^"),
    0.05: (LIGHT["m4"], "v"),
    0.01: (LIGHT["m5"], "P"),
}


def panels(columns: int, height: float, **options: Any) -> tuple[Figure, Sequence[Any]]:
    """A figure as wide as the page, with panels side by side."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained", dpi=150)
    return figure, figure.subplots(1, columns, squeeze=False, **options)[0]


def logarithmic(axes: Any, x: bool = True, y: bool = True) -> None:
    """Log axes whose ticks are plain numbers, with a faint grid."""
    for wanted, axis, scale in ((x, axes.xaxis, axes.set_xscale), (y, axes.yaxis, axes.set_yscale)):
        if wanted:
            scale("log")
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    axes.grid(which="major")


def measured(axes: Any, done: Iterable[Timed], colour: str, marker: str, x: str = "alpha", per: float = 0.0) -> None:
    """Means of simulations with one standard error.

    Parameters
    ----------
    axes, done, colour, marker
        Where, what and how.
    x
        What to draw them against, "alpha" or "seconds".
    per
        If given, the height is error times alpha, divided by this.
    """
    found = list(done)
    scale = [item.simulation.alpha / per if per else 1.0 for item in found]
    axes.errorbar(
        [item.seconds if x == "seconds" else item.simulation.alpha for item in found],
        [item.simulation.error * by for item, by in zip(found, scale, strict=True)],
        yerr=[item.simulation.standard_error * by for item, by in zip(found, scale, strict=True)],
        linestyle="none",
        marker=marker,
        markersize=4.2,
        color=colour,
        markerfacecolor=LIGHT["paper"],
        markeredgewidth=1.2,
        elinewidth=1.3,
        zorder=4,
    )


def note(axes: Any, words: str, x: float, y: float, colour: str = SOFT, **options: Any) -> None:
    """A label beside a line, in its colour."""
    options = {"fontsize": 8, "va": "center", "ha": "left", **options}
    shift = options.pop("shift", (0, 0))
    axes.annotate(words, (x, y), xytext=shift, textcoords="offset points", color=colour, **options)
