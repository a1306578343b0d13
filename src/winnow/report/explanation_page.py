"""The HTML page of an explanation, of a data set or of one example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from .. import __version__
from ..artefacts.explanation import DatasetExplanation, Explanation, LabelError
from ..artefacts.explanation_text import unjudged
from ..artefacts.gallery import Gallery
from ..core.units import GAP
from .html_report import filled, written
from .palette import DARK, LIGHT, css_variables
from .teaching_section import case, pictured, teaching_section

__all__ = ["render_explanation", "write_explanation"]


def write_explanation(about: Explanation | DatasetExplanation, pictures: Gallery | None, path: str | Path) -> Path:
    """Write an explanation as one self-contained HTML page.

    Parameters
    ----------
    about
        The explanation.
    pictures
        Images of the examples it mentions.
    path
        The HTML file to write.
    """
    return written(render_explanation(about, pictures), Path(path))


def render_explanation(about: Explanation | DatasetExplanation, pictures: Gallery | None) -> str:
    """The page as text."""
    values = _dataset(about, pictures) if isinstance(about, DatasetExplanation) else _example(about, pictures)
    return filled(
        "explained.html",
        {
            "version": __version__,
            "name": about.source,
            "light": Markup(css_variables(LIGHT)),
            "dark": Markup(css_variables(DARK)),
            "columns": () if pictures is None else pictures.columns,
            **values,
        },
    )


def _dataset(about: DatasetExplanation, pictures: Gallery | None) -> dict[str, Any]:
    wrong = f"{about.wrong:,} of {about.judged:,} labels look wrong" if about.wrong else "no label looks wrong"
    wrong = "labels were not judged" if about.wrong is None else wrong
    judged = [] if about.wrong is None else [_tile("label issues", about.wrong, about.judged)]
    tiles = [
        {"label": "examples", "value": f"{about.examples:,}", "sub": f"{len(about.classes)} classes"},
        _tile("interchangeable pairs", about.interchangeable, about.pairs),
        _tile("contradictory pairs", about.contradictory, about.pairs),
        *judged,
    ]
    return {
        "head": f"{about.model}, trained on {about.examples:,} examples: {wrong}.",
        "tiles": tiles,
        "teaching": teaching_section(about, pictures),
        "one": None,
    }


def _tile(label: str, count: int, of: int) -> dict[str, str]:
    return {"label": label, "value": f"{count:,}", "sub": f"{count / max(of, 1) * 100:.2g}{GAP}% of {of:,}"}


def _example(about: Explanation, pictures: Gallery | None) -> dict[str, Any]:
    tiles = [
        {"label": "label", "value": about.label, "sub": f"predicted: {about.predicted}"},
        {"label": "interchangeable with", "value": f"{about.interchangeable:,}", "sub": f"of {about.examples - 1:,}"},
        {"label": "contradicts", "value": f"{about.contradictory:,}", "sub": f"of {about.examples - 1:,}"},
    ]
    error = None
    if about.label_score is not None and about.label_bound is not None:
        sub = f"looks wrong above {about.label_bound:.3f}"
        tiles.append({"label": "probability that the label is wrong", "value": f"{about.label_score:.3f}", "sub": sub})
        error = LabelError(
            about.id, about.label, about.label_score, about.label_bound, about.suggested or "", about.witness
        )
    verdict = unjudged(about) if about.looks_wrong is None else "looks wrong" if about.looks_wrong else "looks right"
    return {
        "head": f"Example {about.id}: {about.model}, trained on {about.examples:,} examples including this one, "
        f"predicts {about.predicted}. Its label, {about.label}, {verdict}.",
        "tiles": tiles,
        "teaching": None,
        "one": case(about.standing, about.threshold, pictured(pictures), error if about.looks_wrong else None),
    }
