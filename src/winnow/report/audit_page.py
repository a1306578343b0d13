"""The HTML page of an audit: the measures beside random subsets, classes, the difficulty profile, and issues inside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .. import __version__
from ..artefacts.audit import BETTER, WORSE, Audit, Measure, ordinary
from ..artefacts.gallery import Gallery
from ..core.units import GAP
from .html_report import filled, written
from .palette import DARK, LIGHT, css_variables
from .svg import blank, drawing, to_svg
from .table_cells import cell, table
from .teaching_section import picture_of, pictured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["render_audit", "write_audit"]

MOST = 40  # classes in the table
EDGE = 10  # standard deviations that the figure shows; what is farther is drawn at the edge


def write_audit(about: Audit, pictures: Gallery | None, path: str | Path) -> Path:
    """Write an audit as one self-contained HTML page.

    Parameters
    ----------
    about
        The audit.
    pictures
        Images of the examples it mentions.
    path
        The HTML file to write.
    """
    return written(render_audit(about, pictures), Path(path))


def render_audit(about: Audit, pictures: Gallery | None) -> str:
    """The page as text."""
    drawn = pictured(pictures)
    return filled(
        "audit.html",
        {
            "version": __version__,
            "name": about.source,
            "light": Markup(css_variables(LIGHT)),
            "dark": Markup(css_variables(DARK)),
            "columns": () if pictures is None else pictures.columns,
            "head": f"{about.subset}: {about.size:,} of {about.examples:,} examples, {_worded(about)}.",
            "tiles": _tiles(about),
            "about": about,
            "measures": _measures(about),
            "classes": _classes(about),
            "more": max(0, len(about.classes) - MOST),
            "profile": Markup(to_svg(_profile(about), "share kept by difficulty", "a0")) if about.deciles else None,
            "places": Markup(to_svg(_places(about), "measures beside random subsets", "a1"))
            if any(one.apart is not None for one in about.measures)
            else None,
            "issues": [{"issue": one, "example": picture_of(one.id, one.label, drawn)} for one in about.issues],
        },
    )


def _worded(about: Audit) -> str:
    better = sum(one.standing == BETTER for one in about.measures)
    worse = sum(one.standing == WORSE for one in about.measures)
    return f"clearly better than random in {better} and worse in {worse} of {len(about.measures)} measures"


def _tiles(about: Audit) -> list[dict[str, str]]:
    share = f"{about.size / about.examples * 100:.3g}{GAP}% of the data"
    tiles = [{"label": "examples", "value": f"{about.size:,}", "sub": share}]
    if about.weighted:
        tiles.append({"label": "effective size", "value": f"{about.effective_size:,.0f}", "sub": "weights differ"})
    if about.class_balance is not None:
        mine, whole = about.class_balance
        tiles.append({"label": "class balance", "value": f"{mine:.3f}", "sub": f"all data {whole:.3f}"})
    for kind, word in (("label", "label issues inside"), ("duplicate", "near-duplicates inside")):
        if kind in about.found:
            count = about.found[kind]
            tiles.append(
                {"label": word, "value": f"{count:,}", "sub": f"{count / about.size * 100:.2g}{GAP}% of the subset"}
            )
    return tiles


def _measures(about: Audit) -> dict[str, Any]:
    def row(one: Measure) -> list[dict[str, str]]:
        beside = "" if one.usual is None else _short(one.usual)
        ends = f"{_short(min(one.random))} to {_short(max(one.random))}" if one.random else ""
        return [
            cell(one.name, one.about),
            cell(_short(one.value)),
            cell(beside, ends),
            cell("" if one.whole is None else _short(one.whole)),
            cell(one.standing, kind={BETTER: "better", WORSE: "worse"}.get(one.standing, "")),
        ]

    head = ["measure", "subset", f"random ({about.draws} draws)", "all data", "verdict"]
    return table(head, [row(one) for one in about.measures])


def _classes(about: Audit) -> dict[str, Any] | None:
    if not about.classes:
        return None
    rows = [
        [
            cell(one.name),
            cell(f"{one.examples:,}"),
            cell(f"{one.kept:,}"),
            cell(f"{one.share * 100:.1f}{GAP}%"),
            cell(f"{one.weight * 100:.1f}{GAP}%", kind="" if one.kept else "worse"),
        ]
        for one in sorted(about.classes, key=lambda one: one.weight / max(one.share, 1e-12))[:MOST]
    ]
    return table(["class", "in the data", "in the subset", "share of the data", "share of the subset's weight"], rows)


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.1e}"


def _profile(about: Audit) -> Figure:
    """The share kept of each tenth by difficulty."""
    with drawing():
        figure = blank(2.6)
        axes = figure.add_subplot()
        axes.bar(range(1, 11), [share * 100 for share in about.deciles], 0.9, color=LIGHT["m1"])
        axes.axhline(about.size / about.examples * 100, color=LIGHT["random"], linewidth=1.2, linestyle="--")
        axes.set_xlabel("easier  \N{LEFTWARDS ARROW}  tenths of the data by difficulty  \N{RIGHTWARDS ARROW}  harder")
        axes.set_ylabel("kept (%)")
        axes.set_xticks(range(1, 11))
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        return figure


def _places(about: Audit) -> Figure:
    """How far from random subsets each measure is, in standard deviations of theirs; to the right is better."""
    shown = [(one, one.apart) for one in about.measures if one.apart is not None]
    with drawing():
        figure = blank(0.7 + 0.3 * max(1, len(shown)))
        axes = figure.add_subplot()
        band = ordinary(about.draws)
        axes.axvspan(-band, band, color=LIGHT["line"], linewidth=0)
        for place, (one, apart) in enumerate(reversed(shown)):
            colour = LIGHT[{BETTER: "m3", WORSE: "m2"}.get(one.standing, "ink")]
            axes.plot(min(max(apart, -EDGE), EDGE), place, "o", color=colour, markersize=7)
        axes.set_yticks(range(len(shown)), [one.name for one, _ in reversed(shown)])
        axes.set_xlabel(
            "worse  \N{LEFTWARDS ARROW}  standard deviations from random subsets  \N{RIGHTWARDS ARROW}  better"
        )
        axes.set_xticks(range(-EDGE, EDGE + 1, EDGE // 2))
        axes.set_xlim(-EDGE - 0.5, EDGE + 0.5)
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.grid(axis="x")
        return figure
