"""The HTML page of mistakes: each with the training examples that taught it, and what removing them changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from .. import __version__
from ..artefacts.gallery import Gallery
from ..artefacts.mistakes import Mistake, Mistakes
from ..core.units import GAP, MINUS
from .html_report import filled, written
from .palette import DARK, LIGHT, css_variables
from .teaching_section import picture_of, pictured

__all__ = ["render_mistakes", "write_mistakes"]


def write_mistakes(about: Mistakes, pictures: Gallery, tested: Gallery, path: str | Path) -> Path:
    """Write mistakes as one self-contained HTML page.

    Parameters
    ----------
    about
        The mistakes.
    pictures, tested
        Images of the training and of the test examples.
    path
        The HTML file to write.
    """
    return written(render_mistakes(about, pictures, tested), Path(path))


def render_mistakes(about: Mistakes, pictures: Gallery, tested: Gallery) -> str:
    """The page as text."""
    right, checked = about.confirmed
    share = about.wrong / max(1, about.tested) * 100
    tiles = [
        {"label": "wrong", "value": f"{about.wrong:,}", "sub": f"{share:.3g}{GAP}% of {about.tested:,} test examples"},
        {"label": "explained", "value": f"{len(about.mistakes):,}", "sub": "largest loss first"},
    ]
    if checked:
        tiles.append({"label": "confirmed by training again", "value": f"{right} of {checked}", "sub": "see below"})
    train, exam = pictured(pictures), pictured(tested)
    return filled(
        "mistakes.html",
        {
            "version": __version__,
            "name": about.test,
            "light": Markup(css_variables(LIGHT)),
            "dark": Markup(css_variables(DARK)),
            "columns": pictures.columns,
            "head": f"{about.model}, trained on {about.examples:,} examples of {about.source}: which of them "
            "taught its worst mistakes.",
            "tiles": tiles,
            "about": about,
            "cases": [_case(one, train, exam) for one in about.mistakes],
        },
    )


def _case(one: Mistake, train: Any, exam: Any) -> dict[str, Any]:
    def shown(teachers: Any) -> list[dict[str, Any]]:
        return [
            {
                "example": picture_of(teacher.id, teacher.label, train),
                "influence": _signed(teacher.influence),
                "cosine": "" if teacher.cosine is None else f"cosine{GAP}{teacher.cosine:.2f}".replace("-", MINUS),
            }
            for teacher in teachers
        ]

    words = []
    if one.found is not None:
        words.append(
            f"Without the {len(one.teachers)} teachers the loss changes by {_signed(one.found)} "
            f"(predicted {_signed(one.foretold)})"
        )
        for name, changes in (("of its class", one.random), ("with the teachers' labels", one.matched)):
            if changes:
                words.append(f"random examples {name}: {_signed(min(changes))} to {_signed(max(changes))}")
        if one.found_alike is not None:
            words.append(f"the nearest by lpNTK: {_signed(one.found_alike)}")
    return {
        "mistake": one,
        "example": picture_of(one.id, one.label, exam),
        "loss": f"{one.loss:.2f}",
        "teachers": shown(one.teachers),
        "alike": shown(one.alike),
        "check": "; ".join(words) + "." if words else "",
        "verdict": {True: "confirmed", False: "not confirmed", None: ""}[one.confirmed],
    }


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", MINUS)
