"""What the parts of this study share: examples drawn for it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

import winnow as wn
from winnow.core import seeds
from winnow.training import Feed


def drawn(data: str, size: int, *names: object, split: str = "train") -> tuple[torch.Tensor, NDArray[np.int64]]:
    """Inputs as a network takes them, scaled, and labels, of examples drawn at random.

    Parameters
    ----------
    data
        A name that `wn.open` takes.
    size
        How many.
    names
        What decides the draw: words and numbers.
    split
        "train" or "test".
    """
    source = wn.open(data, split=split)
    places = seeds.stream(0, "drawn", data, split, size, *names).choice(len(source), size, replace=False)
    feed = Feed(source.at(np.sort(places)))
    return feed.inputs(np.arange(size)), np.asarray(feed.targets, dtype=np.int64)
