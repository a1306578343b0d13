"""Line styles: lines differ in colour, dash and marker, and have a name at their right end.

Colour is never the only difference. Random is always grey and dashed with open squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .palette import LIGHT, METHODS

__all__ = ["RANDOM", "method_style", "name_at", "spread"]

DASHES = ("-", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
MARKERS = ("o", "D", "^", "v", "P", "X")
RANDOM: dict[str, Any] = {"color": LIGHT["random"], "linestyle": "--", "marker": "s", "markerfacecolor": LIGHT["paper"]}


def method_style(number: int) -> dict[str, Any]:
    """The style of the line with that number."""
    return {
        "color": LIGHT[METHODS[number % len(METHODS)]],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
    }


def name_at(axes: Any, name: str, colour: str, place: tuple[float, float], offset: float, **how: Any) -> None:
    """Write a line's name in its colour, `offset` points to the right of a place."""
    axes.annotate(
        name,
        place,
        xytext=(offset, 0),
        textcoords="offset points",
        color=colour,
        va="center",
        fontsize=9,
        fontweight="bold",
        **how,
    )


def spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Move ascending heights apart by at least `gap`: upwards as little as needed, then down below `top`."""
    out: list[float] = []
    for height in heights:
        out.append(max(height, out[-1] + gap) if out else height)
    limit = top
    for place in reversed(range(len(out))):
        out[place] = min(out[place], limit)
        limit = out[place] - gap
    return out
