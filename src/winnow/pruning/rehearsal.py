"""The rehearsal: score and select once on made-up signals, so that what cannot work is refused before any training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..artefacts import Signals, Source
from ..core.seeds import stream
from ..signals.ensemble import BLOCK, memberships

__all__ = ["made_up_signals"]


def made_up_signals(source: Source, epochs: int) -> Signals:
    """A few made-up signals in the shape that observing the source would give."""
    n, kinds = 60, min(5, max(2, len(source.classes)))
    rng = stream(0, "rehearsal")
    shapes = {
        "logits": (2, epochs, n, kinds),
        "losses": (2, epochs, n),
        "embeddings": (n, 4),
        "gradients": (2, n, 4),
        "gradient_norms": (2, n),
    }
    arrays: dict[str, Any] = {name: rng.random(shape) for name, shape in shapes.items()}
    if source.task != "classification":
        arrays.pop("logits")
    else:
        member = memberships(n, BLOCK, 0)
        arrays |= {"ensemble_member": member, "ensemble_correct": member, "lpntk": rng.random((2, n, 4))}
    labels = {"classification": np.arange(n) % kinds, "regression": rng.random(n), "unlabelled": None}[source.task]
    classes = tuple(map(str, range(kinds))) if source.task == "classification" else ()
    return Signals(np.arange(n), arrays, source.task, labels, classes, tuple(range(1, epochs + 1)), epochs)
