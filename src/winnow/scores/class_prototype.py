"""Class prototype: the distance of an example from the mean of its own class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..signals.clusters import unit_rows
from .arithmetic import labels_of

__all__ = ["class_prototype"]


@registry.score(needs={"embeddings"}, paper="Sorscher et al. 2022", cost=registry.Cost("n classes", memory=9))
def class_prototype(signals: Signals) -> NDArray[np.float64]:
    """Cosine distance to the mean of its own class.

    1 - cos(embedding, mean embedding of the examples with the same label).

    Parameters
    ----------
    signals
        Must have `embeddings` and labels.
    """
    labels = labels_of(signals)
    points = signals.embeddings.reshape(len(signals), -1)
    out = np.empty(len(signals))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        centre = unit_rows(points[members].mean(axis=0, dtype=np.float64)[None])[0]
        out[members] = 1.0 - unit_rows(points[members]) @ centre
    return np.maximum(out, 0.0)
