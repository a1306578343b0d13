"""What studies in parts share: what is asked of a part, what it hands over, how numbers and figures are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from winnow.artefacts.intervals import Interval, mean
from winnow.report.palette import LIGHT

from .shelf import Shelf

WIDTH = 7.2  # inches, as wide as a page of the docs
COLOURS = [LIGHT[f"m{i}"] for i in range(1, 6)]
INK, SOFT, RANDOM, FULL = LIGHT["ink"], LIGHT["soft"], LIGHT["random"], LIGHT["full"]


@dataclass(frozen=True)
class Asked:
    """What a part is asked for.

    Attributes
    ----------
    shelf
        Where results are kept.
    out
        The run directory, for what keeps itself, such as `wn.evaluate(out=...)`.
    data
        Names that `wn.open` takes.
    seeds
        How many seeds each part runs.
    quick
        Tiny sizes: shows that it runs, proves nothing.
    """

    shelf: Shelf
    out: Path
    data: tuple[str, ...]
    seeds: int
    quick: bool = False


@dataclass(frozen=True)
class Part:
    """What a part found.

    Attributes
    ----------
    name
        What its files are called: `<study>-<name>.md` and `.png`.
    settings
        One sentence: data, sizes, network, training, seeds.
    table
        The lines of a Markdown table.
    verdict
        Sentences made from the numbers: the paper's claim, and whether it held here.
    figure
        To be drawn beside it, if any.
    """

    name: str
    settings: str
    table: Sequence[str]
    verdict: Sequence[str]
    figure: Figure | None = field(default=None, compare=False)


def interval(values: ArrayLike, digits: int = 3) -> str:
    """Mean over seeds with half its 95 % t interval, as tables write it."""
    return written(mean(values), digits)


def written(found: Interval, digits: int = 3) -> str:
    """An interval as tables write it."""
    return f"{found.centre:.{digits}f} ± {found.half_width:.{digits}f}"


def panels(columns: int, height: float, **options: object) -> tuple[Figure, Sequence[object]]:
    """A figure as wide as the page, with panels side by side."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained", dpi=150)
    return figure, figure.subplots(1, columns, squeeze=False, **options)[0]
