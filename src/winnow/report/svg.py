"""From a matplotlib figure to SVG that lives inside a page.

matplotlib writes a document of its own: fixed colours, fonts by name, ids that repeat from figure to figure, a
date. Inside the report a drawing takes its colours from the page (`palette`), its font from the page, has ids
that no other drawing has, scales with the page, and is the same bytes each time.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from .palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["WIDTH", "drawing", "to_svg"]

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
def drawing() -> Iterator[None]:
    """Draw in winnow's style, whatever the user's own matplotlib settings are, and leave those alone."""
    import matplotlib

    usual = {
        key: matplotlib.rcParamsDefault[key]
        for key in matplotlib.rcParamsDefault
        if key.split(".")[0]
        in {
            "axes",
            "figure",
            "font",
            "grid",
            "legend",
            "lines",
            "path",
            "patch",
            "savefig",
            "svg",
            "text",
            "xtick",
            "ytick",
            "errorbar",
            "hatch",
        }
    }
    with warnings.catch_warnings(), matplotlib.rc_context({**usual, **_STYLE}):
        # The font that measures a name may lack its letters; the reader's browser has them.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def to_svg(figure: Figure, title: str, prefix: str) -> str:
    """The figure as an SVG element to put inside an HTML page.

    Parameters
    ----------
    figure
        One of `figures`' drawings.
    title
        What it shows, for those who cannot see it.
    prefix
        Put before every id, different for each figure of a page.
    """
    target = io.StringIO()
    with drawing():
        import matplotlib

        with matplotlib.rc_context({"svg.hashsalt": prefix}):
            figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    text = target.getvalue()
    body = text[text.index(">", text.index("<svg")) + 1 :]
    view = re.search(r'viewBox="([^"]+)"', text)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.S)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.S)
    body = re.sub(r"\s*\n\s*", " ", body).replace("> <", "><").replace("xlink:href", "href")
    body = re.sub(r"<g ?/>|<defs></defs>", "", body)
    body = _themed(_with_page_fonts(_with_own_ids(body, prefix)))
    box = view.group(1) if view else "0 0 1 1"
    return f'<svg viewBox="{box}" role="img" aria-label={quoteattr(title)}><title>{escape(title)}</title>{body.strip()}'


def _with_own_ids(body: str, prefix: str) -> str:
    """Drop the ids nothing refers to and put `prefix` before the others."""
    used = set(re.findall(r'href="#([^"]+)"', body)) | set(re.findall(r"url\(#([^)]+)\)", body))
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', body)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body)


def _with_page_fonts(body: str) -> str:
    """Keep size and weight of text and leave the family to the page."""

    def replaced(match: re.Match[str]) -> str:
        weight = re.search(r"\b(bold|[1-9]00)\b", match[1])
        size = re.search(r"([\d.]+)px", match[1])
        return f"font-size: {size[1] if size else 9}px" + (f"; font-weight: {weight[1]}" if weight else "")

    # matplotlib before 3.11 writes the shorthand, later ones a property each.
    return re.sub(r"font-family: [^;\"]*;? ?", "", re.sub(r"font: ([^;\"]*)", replaced, body))


def _themed(body: str) -> str:
    """Replace the palette's light values by the page's variables."""
    names = {value: name for name, value in LIGHT.items()}
    return re.sub(r"#[0-9a-f]{6}\b", lambda m: f"var(--{names[m[0]]})" if m[0] in names else m[0], body)
