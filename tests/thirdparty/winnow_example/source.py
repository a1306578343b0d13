"""Semicolon files: one example per line, numbers and then a label, parted by semicolons."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from winnow.artefacts import Source
from winnow.core import registry
from winnow.core.errors import DataError
from winnow.sources.assembly import Held, OpenRequest, Pieces, assemble
from winnow.sources.splits import without_splits

__all__ = ["open_semicolons"]


@registry.source(name="semicolons", reads="semicolon files", endings=(".semi",))
def open_semicolons(path: Path, asked: OpenRequest) -> Source:
    """A Source over a file of numbers and labels parted by semicolons."""
    name = asked.named(path)
    without_splits(asked.split, f"source {name!r}")
    cells = [line.split(";") for line in path.read_text().splitlines() if line]
    try:
        values = np.array([row[:-1] for row in cells], dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path} cannot be read as semicolons: {error}.") from None
    pieces = Pieces(
        adapter="semicolons",
        read=Held(values),
        count=len(values),
        shape=values.shape[1:],
        kind="table",
        target=np.array([row[-1] for row in cells]),
        values=values,
    )
    return assemble(asked, name, pieces)
