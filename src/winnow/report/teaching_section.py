"""How examples teach each other, as values for the templates: classes and their figure, label issues, partners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..artefacts.explanation import ClassPair, DatasetExplanation, LabelError, Partner, Standing
from ..artefacts.explanation_text import caution, sampled
from ..artefacts.gallery import Example, Gallery
from ..core.units import GAP, MINUS
from .metric_units import name_for_axis
from .palette import LIGHT
from .svg import WIDTH, add_cell, blank, drawing, to_svg
from .table_cells import cell, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST", "case", "drawn_classes", "picture_of", "pictured", "relations_square", "teaching_section"]

MOST_ROWS = 60  # class pairs in the page; the JSON file has more
MOST = 20  # classes drawn
NUMBERED = 12  # up to so many classes, every cell shows its number
DARKEST = 0.9  # opacity of the largest value


def teaching_section(
    about: DatasetExplanation, pictures: Gallery | None, groups: Mapping[str, Iterable[str]] | None = None
) -> dict[str, Any]:
    """The relations between classes, the label issues, and the partners of some examples.

    Parameters
    ----------
    about
        The explanation of the data set.
    pictures
        Images of the examples it mentions.
    groups
        More examples to show: ids as text, by title.
    """
    drawn = pictured(pictures)
    standing = {str(one.id): one for one in about.standings}
    shown = drawn_classes(about)
    return {
        "about": about,
        "notes": [*sampled(about), *caution(about)],
        "drawn": len(shown) if len(shown) < len(about.classes) else None,
        "svg": Markup(to_svg(relations_square(about), "mean cosine between classes", "r0")),
        "table": _pairs_table(about),
        "more": max(0, len(about.relations) - len(about.within) - MOST_ROWS),
        "share": _share(about.interchangeable, about.pairs),
        "errors": [case(standing[str(one.id)], about.threshold, drawn, one) for one in about.errors],
        "groups": [
            {"title": title, "cases": [case(standing[id], about.threshold, drawn) for id in ids if id in standing]}
            for title, ids in (groups or {}).items()
        ],
        "columns": () if pictures is None else pictures.columns,
    }


def pictured(pictures: Gallery | None) -> dict[str, Example]:
    """The examples of a gallery by id."""
    return {} if pictures is None else {item.id: item for items in pictures.sections.values() for item in items}


def case(
    about: Standing, threshold: float, drawn: Mapping[str, Example], error: LabelError | None = None
) -> dict[str, Any]:
    """One example and the examples learned with it and against it."""

    def near(partner: Partner) -> dict[str, Any]:
        return {
            "example": picture_of(partner.id, partner.label, drawn),
            "projection": f"{partner.projection:.2f}".replace("-", MINUS),
            "cosine": f"{partner.cosine:.2f}".replace("-", MINUS),
            "strong": abs(partner.projection) >= threshold,
        }

    return {
        "example": picture_of(about.id, about.label, drawn),
        "same_way": [near(one) for one in about.same_way],
        "against": [near(one) for one in about.against],
        "interchangeable": f"{about.interchangeable:,}",
        "contradictory": f"{about.contradictory:,}",
        "stand_in": None if about.stand_in is None else near(about.stand_in),
        "score": None if error is None else f"{error.score:.3f}",
        "bound": None if error is None else f"{error.bound:.3f}",
        "suggested": None if error is None else error.suggested,
        "witness": None
        if error is None or error.witness is None
        else picture_of(error.witness, error.suggested, drawn),
    }


def picture_of(id: Any, label: str | None, drawn: Mapping[str, Example]) -> Example:
    """The picture of an example; its id and label alone if none was drawn."""
    return drawn.get(str(id)) or Example(str(id), label, None, True)


def _pairs_table(about: DatasetExplanation) -> dict[str, Any]:
    rows = [_row(pair) for pair in (*about.within, *about.between[:MOST_ROWS])]
    return table(["class", "and", "pairs", "interchangeable", "contradictory", "mean cosine"], rows)


def _row(pair: ClassPair) -> list[dict[str, str]]:
    return [
        cell(pair.one),
        cell("itself" if pair.one == pair.other else pair.other),
        cell(f"{pair.pairs:,}"),
        cell(f"{pair.interchangeable:,}", _share(pair.interchangeable, pair.pairs)),
        cell(f"{pair.contradictory:,}", _share(pair.contradictory, pair.pairs)),
        cell(f"{pair.cosine:.3f}".replace("-", MINUS)),
    ]


def _share(count: int, of: int) -> str:
    return f"{count / of * 100:.2g}{GAP}%" if count and of else ""


def drawn_classes(about: DatasetExplanation) -> list[str]:
    """The classes to draw, in their order: all, or of many those in the strongest pairs."""
    if len(about.classes) <= MOST:
        return list(about.classes)
    chosen: dict[str, None] = {}
    for pair in about.between:
        for name in (pair.one, pair.other):
            if len(chosen) < MOST:
                chosen[name] = None
    return [name for name in about.classes if name in chosen]


def relations_square(about: DatasetExplanation) -> Figure:
    """Mean cosines between classes: blue if they are learned together, orange if against each other.

    Parameters
    ----------
    about
        The explanation of the data set.
    """
    names = drawn_classes(about)
    known = {(pair.one, pair.other): pair.cosine for pair in about.relations if pair.pairs}
    known |= {(pair.other, pair.one): pair.cosine for pair in about.relations if pair.pairs}
    largest = max((abs(value) for value in known.values()), default=0.0) or 1.0
    side = max(0.16, 0.36 - 0.01 * len(names)) * len(names)
    with drawing():
        figure = blank(min(WIDTH, 1.3 + side))
        axes = figure.add_subplot()
        for row, one in enumerate(names):
            for column, other in enumerate(names):
                value = known.get((one, other))
                if value is None:
                    continue
                colour = LIGHT["m1"] if value >= 0 else LIGHT["m2"]
                add_cell(axes, row, column, colour, DARKEST * abs(value) / largest)
                if len(names) <= NUMBERED:
                    axes.annotate(_short(value), (column, row), ha="center", va="center", fontsize=7.5)
        _label(axes, names)
        return figure


def _label(axes: Any, names: Sequence[str]) -> None:
    places = range(len(names))
    short = [name_for_axis(name) for name in names]
    axes.set_xticks(places, short, rotation=90 if len(names) > 4 else 0)
    axes.set_yticks(places, short)
    axes.tick_params(labelsize=8, labelcolor=LIGHT["ink"])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _short(value: float) -> str:
    """A cosine without its leading zero."""
    text = f"{abs(value):.2f}"
    return (MINUS if value < 0 else "") + (text if text.startswith("1") else text[1:])
