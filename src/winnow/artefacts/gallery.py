"""The few examples that a report shows, small enough to embed.

Four sections: the easiest and the hardest by score, and samples of the kept and of the dropped examples. How an example
is shown depends on its source: an image as a PNG of at most 96 pixels per side, a table row as its first columns, a
text as its beginning, anything else as its shape and a few statistics. The gallery also holds the number of kept
examples per class, which a report cannot get from a subset alone. It is made once, while the source is open, and saved
in the run as `gallery.json`. Only the examples shown are read.
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
        Its id, and the name of its class (or its target) as text; None for unlabelled data.
    score
        Its score, if there is one.
    kept
        Whether it is in the subset.
    png, width, height
        An image in base64, and its size in pixels.
    row
        A table's values, in the order of the gallery's columns, as text.
    text
        The beginning of a text.
    facts
        Shape and statistics of an example that cannot be drawn.
    """

    id: str
    label: str | None
    score: float | None
    kept: bool
    png: str | None = None
    width: int = 0
    height: int = 0
    row: tuple[str, ...] = ()
    text: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gallery(Saved, kind="gallery", layout=Json()):
    """Examples to show, by section, and how many of each class were kept.

    Parameters
    ----------
    source, kind
        Name of the source, and the kind of its examples: `image`, `tensor`, `table` or `text`.
    score
        Name of the score that defines "easiest" and "hardest", if any.
    sections
        The examples of each section of `SECTIONS`; empty sections are left out.
    columns
        Names of the columns in every `row`.
    hidden_columns
        How many more columns the table has.
    counts
        (name, kept, total) for each class.
    """

    source: str
    kind: str
    score: str | None
    sections: Mapping[str, tuple[Example, ...]]
    columns: tuple[str, ...] = ()
    hidden_columns: int = 0
    counts: tuple[tuple[str, int, int], ...] = ()
