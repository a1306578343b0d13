"""Convert a matplotlib figure to SVG that can be embedded in a page.

matplotlib writes a standalone document: fixed colours, named fonts, ids that repeat between figures, a date. In the
report, a figure takes its colours (`palette`) and font from the page, has unique ids, scales with the page, and is
identical byte for byte each time.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["WIDTH", "add_cell", "blank", "drawing", "to_svg"]

WIDTH = 5.0  # inches; legible when the page is as narrow as a phone

_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a class called "$x$" is a name, not a formula
    "text.usetex": False,
    "axes.unicode_minus": True,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["soft"],
    "axes.edgecolor": LIGHT["line"],
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.facecolor": LIGHT["paper"],
    "figure.edgecolor": LIGHT["paper"],
    "savefig.facecolor": "auto",
    "savefig.bbox": None,
    "grid.color": LIGHT["line"],
    "grid.linewidth": 0.6,
    "hatch.color": LIGHT["paper"],
    "xtick.color": LIGHT["line"],
    "ytick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["soft"],
    "ytick.labelcolor": LIGHT["soft"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "errorbar.capsize": 0,
}


@contextmanager
def drawing(**more: Any) -> Iterator[None]:
    """Draw in winnow's style, without using or changing the user's own matplotlib settings.

    Parameters
    ----------
    more
        More matplotlib settings, with `_` for the dot: `svg_hashsalt="a"`.
    """
    from matplotlib import style

    given = {key.replace("_", ".", 1): value for key, value in more.items()}
    with warnings.catch_warnings(), style.context(["default", {**_STYLE, **given}]):
        # The font used for measuring may lack some letters; the reader's browser has them.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def blank(height: float, width: float = WIDTH) -> Figure:
    """A figure of that size in inches, with nothing on it yet; matplotlib is imported here and not before."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def add_cell(axes: Any, row: int, column: int, colour: str, alpha: float) -> None:
    """Add one square of a matrix to the axes, of which rows and columns are one unit apart."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, facecolor=colour, edgecolor="none", alpha=alpha))


def to_svg(figure: Figure, title: str, prefix: str) -> str:
    """The figure as an SVG element for an HTML page.

    Parameters
    ----------
    figure
        One of the figures of `figures`.
    title
        What it shows, for screen readers.
    prefix
        Prefix of every id, different for each figure of a page.
    """
    target = io.StringIO()
    with drawing(svg_hashsalt=prefix):
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    root = ET.fromstring(target.getvalue())
    page = ET.Element("svg", {"viewBox": root.get("viewBox", "0 0 1 1"), "role": "img", "aria-label": title})
    ET.SubElement(page, "title").text = title
    colours = {value: f"var(--{name})" for name, value in LIGHT.items()}
    said = " ".join(value for node in root.iter() for value in node.attrib.values())
    names = {name: colours.get(name, f"#{prefix}-{name[1:]}") for name in re.findall(r"#[\w-]+", said)}
    page.extend(part for part in (_for_page(node, names) for node in root) if part is not None)
    return ET.tostring(page, encoding="unicode")


def _for_page(node: ET.Element, names: Mapping[str, str]) -> ET.Element | None:
    """A node prepared for the page: no namespaces, no own stylesheet, no unused ids."""
    tag = node.tag.rpartition("}")[2]
    parts = [part for part in (_for_page(child, names) for child in node) if part is not None]
    if tag in ("metadata", "style") or (tag in ("g", "defs") and not parts):
        return None
    made = ET.Element(tag)
    made.text = node.text if (node.text or "").strip() else None
    made.extend(parts)
    for key, value in node.attrib.items():
        if key != "id":
            renamed = re.sub(r"#[\w-]+", lambda match: names[match[0]], value)
            made.set(key.rpartition("}")[2], _with_page_font(renamed) if key == "style" else renamed)
        elif f"#{value}" in names:
            made.set("id", names[f"#{value}"][1:])
    return made


def _with_page_font(style: str) -> str:
    """Keep the size and weight of text, and take the font family from the page."""

    def replaced(match: re.Match[str]) -> str:
        weight = re.search(r"\b(bold|[1-9]00)\b", match[1])
        size = re.search(r"([\d.]+)px", match[1])
        return f"font-size: {size[1] if size else 9}px" + (f"; font-weight: {weight[1]}" if weight else "")

    # matplotlib before 3.11 writes the shorthand, later versions separate properties.
    return re.sub(r"font-family: [^;]*;? ?", "", re.sub(r"font: ([^;]*)", replaced, style))
