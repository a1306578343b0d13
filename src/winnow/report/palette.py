"""The colours of figures and pages, one set of names with a light and a dark value each, and the styles of lines.

Figures are drawn with the light values, so a figure saved as PNG needs no change. In the report, `svg.to_svg` replaces
each light value by the CSS variable of its name, so one figure works in both themes; that is why no two names may share
a light value. The method colours stay distinct under the common kinds of colour blindness, and colour is never the only
difference: lines differ in dash and marker too, and have a name at their right end. Random is always grey and dashed
with open squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["DARK", "LIGHT", "METHODS", "RANDOM", "css_variables", "method_style", "name_at", "spread"]

LIGHT = {
    "ink": "#1f2429",
    "soft": "#5c646d",
    "line": "#dcdfe3",
    "paper": "#fefefe",
    "full": "#343b43",
    "random": "#868e98",
    "dropped": "#c3c9d0",
    "m1": "#0b66b2",
    "m2": "#c4501b",
    "m3": "#16805d",
    "m4": "#9a4f96",
    "m5": "#a87410",
    "m6": "#2f9cc9",
}
DARK = {
    "ink": "#e8eaed",
    "soft": "#a3abb5",
    "line": "#363c44",
    "paper": "#1b1f24",
    "full": "#d0d5db",
    "random": "#8f98a3",
    "dropped": "#4b535d",
    "m1": "#5aaef2",
    "m2": "#f08a57",
    "m3": "#4cc29a",
    "m4": "#d293cf",
    "m5": "#dcae4c",
    "m6": "#7fd0f0",
}
METHODS = ("m1", "m2", "m3", "m4", "m5", "m6")
DASHES = ("-", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
MARKERS = ("o", "D", "^", "v", "P", "X")
RANDOM: dict[str, Any] = {"color": LIGHT["random"], "linestyle": "--", "marker": "s", "markerfacecolor": LIGHT["paper"]}


def css_variables(values: dict[str, str]) -> str:
    """The colours as CSS variable declarations."""
    return " ".join(f"--{name}: {value};" for name, value in values.items())


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
