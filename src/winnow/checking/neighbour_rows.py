"""Rows to find neighbours in, and to fit a head on, if no embeddings are given.

Images have the patches that they hold, texts tf-idf, and tables their scaled columns, projected if there are many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.seeds import stream
from ..signals.patch_rows import SMALLEST, patch_rows
from ..signals.text_rows import text_rows
from ..training import Feed

__all__ = ["neighbour_rows"]

LONGEST = 128  # numbers per row; a random projection to so many keeps distances within about a tenth
WORDS = 512  # numbers per text: a head needs more of them than neighbours do
BLOCK = 4096


def neighbour_rows(source: Source, seed: int = 0) -> NDArray[np.float32]:
    """Return one row per example, in the order of the source.

    Parameters
    ----------
    source
        The examples.
    seed
        Seed of the projection.
    """
    if source.kind == "text":
        return text_rows(source, seed, WORDS)
    if source.kind == "image" and min(source.shape[-2:]) >= SMALLEST:
        return patch_rows(source, seed)
    feed = Feed(source)
    width = int(np.prod(source.shape))
    onto = None
    if width > LONGEST:
        drawn = stream(seed, "neighbour rows", width).standard_normal((width, LONGEST))
        onto = (drawn / np.sqrt(LONGEST)).astype(np.float32)
    found = np.empty((len(source), width if onto is None else LONGEST), dtype=np.float32)
    for start in range(0, len(source), BLOCK):
        where = np.arange(start, min(start + BLOCK, len(source)))
        rows = feed.inputs(where).flatten(1).numpy()
        found[feed.order[where]] = rows if onto is None else rows @ onto
    return found
