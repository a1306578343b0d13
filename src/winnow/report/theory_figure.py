"""The figure of the theory: a student's error by the number of training examples.

It takes plain numbers: `winnow theory`, the documentation and the studies all use it. Both axes are logarithmic, each
line has its name at its right end, and random is a grey, dashed line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.errors import InputError
from ..core.files import atomic
from .palette import LIGHT, RANDOM, method_style, name_at, spread
from .svg import blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Line", "PointMarks", "draw_rows", "draw_theory", "file_format", "theory_figure"]

FORMATS = ("png", "svg", "pdf")
HEIGHT = 3.4
FEW = 30  # a line with at most this many points shows them
AXES = {"error": "error on new data", "information": "information of one more example, nats"}
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class PointMarks:
    """Simulated values, with standard errors."""

    alpha: ArrayLike
    value: ArrayLike
    standard_error: ArrayLike


@dataclass(frozen=True)
class Line:
    """A curve: its name, kept examples per dimension, the value at each, and simulated values beside it."""

    name: str
    alpha: ArrayLike
    value: ArrayLike
    marks: PointMarks | None = None


def draw_rows(curves: Sequence[tuple[str, Rows, Rows]], path: str | Path, *, title: str = "", value: str) -> Path:
    """Write the figure of curves that are given as rows: smooth lines, and simulated errors as marks.

    Parameters
    ----------
    curves
        Name, rows of the line and rows that may hold simulated errors, for each curve; random selection last.
    path
        The file to write.
    title
        What all curves have in common.
    value
        The key of the values: error or information.
    """
    *lines, reference = (
        Line(name, _column(line, "alpha"), _column(line, value), _marks(points)) for name, line, points in curves
    )
    return draw_theory(lines, path, reference=reference, title=title, axis=AXES[value])


def _column(rows: Rows, key: str) -> list[float]:
    return [row[key] for row in rows]


def _marks(rows: Rows) -> PointMarks | None:
    if not rows or "simulated_error" not in rows[0]:
        return None
    return PointMarks(*(_column(rows, key) for key in ("alpha", "simulated_error", "standard_error")))


def draw_theory(lines: Sequence[Line], path: str | Path, **how: Any) -> Path:
    """Write the figure as PNG, SVG or PDF, depending on the file name.

    Parameters
    ----------
    lines
        The curves.
    path
        The file to write; an existing one is replaced.
    how
        `reference`, `title` and `axis` of `theory_figure`.
    """
    kind = file_format(path)
    figure = theory_figure(lines, **how)
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with atomic(path) as part, drawing(svg_hashsalt="theory"):  # equal figures give equal bytes
        figure.savefig(part, format=kind, dpi=160, metadata=undated)
    return Path(path)


def file_format(path: str | Path) -> str:
    """The format of a figure, by its file name; an error if it cannot be written, before anything is computed."""
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"the name of a figure must end in .png, .svg or .pdf; got {str(path)!r}.")
    if target.is_dir():
        raise InputError(f"a figure must be a file to write; {target} is a directory.")
    return kind


def theory_figure(
    lines: Sequence[Line],
    *,
    reference: Line | None = None,
    title: str = "",
    axis: str = AXES["error"],
) -> Figure:
    """Curves against kept examples per dimension, both axes logarithmic.

    Parameters
    ----------
    lines
        The curves; simulated values are drawn with two standard errors on either side.
    reference
        The curve of random selection, drawn below the others, grey and dashed.
    title
        What all curves have in common.
    axis
        What the values are.
    """
    styled = [] if reference is None else [(reference, RANDOM)]
    styled += [(line, method_style(number)) for number, line in enumerate(lines)]
    if not styled:
        raise InputError("lines of theory_figure must hold at least one curve; got none.")
    with drawing():
        figure = blank(HEIGHT)
        axes = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="clip")
        ends = [(line.name, style["color"], _draw(axes, line, style)) for line, style in styled]
        axes.set_xlabel("kept examples per dimension")
        axes.set_ylabel(axis)
        if any(line.marks is not None for line, _ in styled):
            title = f"{title}\nlines: theory; marks: simulated, with 2 standard errors".strip()
        axes.set_title(title, fontsize=9, color=LIGHT["soft"], loc="left")
        axes.grid()
        axes.margins(x=0.02, y=0.06)
        for one in (axes.xaxis, axes.yaxis):
            _ticks(one)
        _names(axes, ends)
        return figure


def _draw(axes: Any, line: Line, style: dict[str, Any]) -> tuple[float, float]:
    """Draw one line and its marks; return the log heights of its right end and of its middle."""
    owner = f"the line {line.name!r}"
    alpha = checks.array("alpha", owner, line.alpha, ndim=1, dtype=np.float64)
    value = checks.array("value", owner, line.value, ndim=1, rows=alpha.size, dtype=np.float64)
    if (alpha <= 0).any() or (value <= 0).any():
        raise InputError(f"alpha and value of {owner} must be above 0, because the axes are logarithmic.")
    order = np.argsort(alpha, kind="stable")
    # Between few points a straight line is a guess, so they are shown; next to marks they would look simulated.
    dotted = alpha.size <= FEW and line.marks is None
    plain = {key: style[key] for key in style if key != "marker" or dotted}
    axes.plot(alpha[order], value[order], label=line.name, markersize=3.5 if alpha.size > 1 else 5.5, **plain)
    if line.marks is not None:
        axes.errorbar(
            line.marks.alpha,
            line.marks.value,
            yerr=2 * np.asarray(line.marks.standard_error),
            elinewidth=1.2,
            markersize=4.5,
            **{**style, "linestyle": "none"},
        )
    heights = np.log10(value[order])
    return float(heights[-1]), float(heights.mean())


def _ticks(axis: Any) -> None:
    """Plain numbers as tick labels, at 1, 2 and 5 if the axis is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    short = np.log10(high / low) < 3
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,), numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _names(axes: Any, ends: Sequence[tuple[str, str, tuple[float, float]]]) -> None:
    """Names to the right of the axes, at the height of each line's end, moved apart if they would overlap.

    Lines that end at the same height are named in the order given.
    """
    low, high = np.log10(axes.get_ylim())
    gap = min(0.065 * (high - low), (high - low) / max(len(ends), 1))
    ordered = sorted(ends, key=lambda end: (round(end[2][0], 2), end[2][1]))
    heights = spread([end for *_, (end, _) in ordered], gap, float(high))
    for (name, colour, _), height in zip(ordered, heights, strict=True):
        name_at(axes, name, colour, (1.0, 10**height), 4, xycoords=("axes fraction", "data"), annotation_clip=False)
