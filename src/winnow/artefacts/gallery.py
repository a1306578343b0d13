"""The few examples a report shows, kept small enough to live inside it.

Four sections: the easiest and the hardest by score, and a sample of what was kept and of what was dropped. An
example is drawn by what its source holds: a picture as a PNG of at most 96 pixels a side, a table's row as its
first columns, anything else as its shape and a few statistics. Beside them lie the counts of kept examples by
class, which a report could not get from a subset alone. A gallery is made once, while the source is open, and
saved in the run as `gallery.json`; it reads the examples it shows and no others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import StoreError
from ..core.files import read_json, write_json

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
class Gallery:
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

    def save(self, path: str | Path) -> Path:
        """Write it as JSON."""
        write_json(path, {"winnow": "gallery", **dataclasses.asdict(self)})
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Gallery:
        """Read what `save` wrote."""
        about = read_json(path)
        if not isinstance(about, dict) or about.pop("winnow", None) != "gallery":
            raise StoreError(f"{path} does not hold a gallery.")
        try:
            sections = {
                name: tuple(Example(**{**item, "row": tuple(item["row"])}) for item in items)
                for name, items in about.pop("sections").items()
            }
            return cls(
                **{
                    **about,
                    "sections": sections,
                    "columns": tuple(about["columns"]),
                    "counts": tuple((str(n), int(k), int(t)) for n, k, t in about["counts"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{path} does not hold a gallery that this winnow can read: {error}.") from None
