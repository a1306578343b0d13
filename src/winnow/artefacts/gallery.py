"""The few examples a report shows, kept small enough to live inside it.

Four sections: the easiest and the hardest by score, and a sample of what was kept and of what was dropped. An
example is drawn by what its source holds: a picture as a PNG of at most 96 pixels a side, a table's row as its
first columns, anything else as its shape and a few statistics. Beside them lie the counts of kept examples by
class, which a report could not get from a subset alone. A gallery is made once, while the source is open, and
saved in the run as `gallery.json`; it reads the examples it shows and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..core.layouts import Json
from ..core.serialiser import Saved

__all__ = ["SECTIONS", "Example", "Gallery"]

SECTIONS = ("easiest", "hardest", "kept", "dropped")


@dataclass(frozen=True)
class Example:
    """One example as the report shows it.

    Parameters
    ----------
    id, label
        Its id and the name of its class (or its target) as text; no label for unlabelled data.
    score
        Its score, if there is one.
    kept
        Whether the subset holds it.
    png, width, height
        A picture in base64 and its size in pixels.
    row
        A table's values, in the order of the gallery's columns, as text.
    facts
        What is said of an example that cannot be drawn.
    """

    id: str
    label: str | None
    score: float | None
    kept: bool
    png: str | None = None
    width: int = 0
    height: int = 0
    row: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gallery(Saved, kind="gallery", layout=Json()):
    """Examples to show, by section, and how many of each class were kept.

    Parameters
    ----------
    source, kind
        Name of the source and what its examples are: `image`, `tensor` or `table`.
    score
        Name of the score that "easiest" and "hardest" refer to; None without one.
    sections
        The examples of each section of `SECTIONS`; one that would be empty is absent.
    columns
        Names of the columns in every `row`.
    hidden_columns
        How many more columns the table has.
    counts
        For each class (name, kept, in all).
    """

    source: str
    kind: str
    score: str | None
    sections: Mapping[str, tuple[Example, ...]]
    columns: tuple[str, ...] = ()
    hidden_columns: int = 0
    counts: tuple[tuple[str, int, int], ...] = ()
