"""The inputs of examples as the page shows them: a picture, a text, the cells of a row, or a few facts."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..report.pictures import cell_text, picture
from .example_table import ExampleTable

__all__ = ["SIDES", "column_names", "contents", "has_pictures", "picture_bytes"]

SIDES = (96, 384)  # pixels of a picture in the grid and in the panel
LETTERS = {True: 280, False: 20_000}  # of a text in the grid and in the panel
CELLS = {True: 6, False: 500}  # of a row


def has_pictures(source: Source) -> bool:
    """Whether examples are shown as pictures."""
    flat = source.kind == "tensor" and len(source.shape) == 3 and source.shape[0] in (1, 3, 4)
    return source.kind == "image" or flat


def picture_bytes(table: ExampleTable, row: int, side: int) -> tuple[bytes, str]:
    """The picture of an example and its media type: PNG of small pictures, JPEG of photos."""
    from PIL import Image

    with table.reading:
        item = table.source.read(np.array([row]))[0]
    image = picture(_bytes_of(item), side)
    if max(image.size) * 2 <= side:  # tiny: pixels stay pixels
        times = side // max(image.size)
        image = image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)
    photo = image.mode == "RGB" and max(image.size) > SIDES[0]
    target = io.BytesIO()
    image.save(target, format="JPEG" if photo else "PNG", **({"quality": 88} if photo else {}))
    return target.getvalue(), "image/jpeg" if photo else "image/png"


def _bytes_of(item: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels from 0 to 255; numbers of any other range are stretched to it."""
    if item.dtype == np.uint8:
        return item
    low, high = float(item.min()), float(item.max())
    return ((item - low) * (255.0 / max(high - low, 1e-12))).astype(np.uint8)


def column_names(source: Source) -> list[str]:
    """The columns of a table."""
    if source.raw is not None:
        return list(source.raw.names)
    width = int(np.prod(source.shape))
    return list(source.columns) if len(source.columns) == width else [str(number) for number in range(width)]


def contents(table: ExampleTable, rows: NDArray[Any], *, short: bool) -> list[dict[str, Any]]:
    """What to show of each of some rows besides a picture."""
    source, where = table.source, np.asarray(rows, dtype=np.int64)
    if has_pictures(source) or not where.size:
        return [{} for _ in where]
    with table.reading:
        if source.kind == "text":
            assert source.read_texts is not None
            most = LETTERS[short]
            texts = [str(one) for one in source.read_texts(where)]
            return [{"text": one if len(one) <= most else f"{one[:most].rstrip()} ..."} for one in texts]
        if source.raw is not None:
            cells = list(source.raw.cells(where).values())[: CELLS[short]]
            return [{"cells": [cell_text(column[k]) for column in cells]} for k in range(where.size)]
        values = source.read(where).reshape(where.size, -1)[:, : CELLS[short]]
    return [{"cells": [cell_text(float(one)) for one in row]} for row in values]
