"""The colours of figures and pages: one set of names, with a light and a dark value each.

Figures are drawn with the light values, so a figure saved as PNG needs no change. In the report, `svg.to_svg` replaces
each light value by the CSS variable of its name, so one figure works in both themes; that is why no two names may share
a light value. The method colours stay distinct under the common kinds of colour blindness, and figures never rely on
colour alone.
"""

from __future__ import annotations

__all__ = ["DARK", "LIGHT", "METHODS", "css_variables"]

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


def css_variables(values: dict[str, str]) -> str:
    """The colours as CSS variable declarations."""
    return " ".join(f"--{name}: {value};" for name, value in values.items())
