"""lpNTK features of a trained network over a feed: what the `lpntk` array of Signals holds."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import NotDefinedError
from ..training.feed import Feed

__all__ = ["tangent_features"]

CHUNK = 2048  # examples whose inputs are held at once


def tangent_features(model: torch.nn.Module, feed: Feed, dim: int, seed: int) -> NDArray[np.float32]:
    """Projected lpNTK features, n x dim, in canonical order; the network is left as it was.

    Parameters
    ----------
    model
        A network with one logit a class.
    feed
        The examples, with class labels.
    dim
        Length after projection.
    seed
        Of the projection.
    """
    from ..lpntk.kernel import features  # numba, which that room loads, only where it is wanted

    if feed.targets is None or feed.source.task != "classification":
        raise NotDefinedError(f"lpntk needs class labels; source {feed.source.name!r} has none.")
    labels = feed.targets.numpy()
    out = np.empty((len(feed), dim), dtype=np.float32)
    for first in range(0, len(feed), CHUNK):
        where = np.arange(first, min(first + CHUNK, len(feed)))
        out[where] = features(model, feed.inputs(where), labels[where], project=dim, seed=seed)
    return out
