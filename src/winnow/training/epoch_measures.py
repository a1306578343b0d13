"""What some outputs of an epoch say about each example: a vector per name, and predictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.label_set_logits import seen_logits

__all__ = ["CHUNK", "measured"]

CHUNK = 1 << 15  # logits measured at a time: in float64, what is worked on stays in the processor's cache


def measured(
    outputs: NDArray[np.float32], targets: NDArray[Any], names: Iterable[str], task: str, predicted: bool
) -> tuple[dict[str, NDArray[Any]], NDArray[np.floating]]:
    """Compute what is kept of some outputs.

    Parameters
    ----------
    outputs, targets
        One row per example.
    names
        Arrays of the dynamics; `losses` is one of them, and the only one of a regression.
    task
        Of a regression, losses are squared errors; otherwise outputs are logits of classes or labels.
    predicted
        Whether predictions are wanted; otherwise the outputs stand for them.

    Returns
    -------
    tuple
        The arrays by name, losses in float32 (infinite if they are too large for it), and the predictions.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the recorder says which loss is too large
        if task == "regression":
            losses = np.square(outputs.astype(np.float64) - targets).mean(1)
            return {"losses": losses.astype(np.float32)}, outputs
        seen = seen_logits(task, outputs, targets)
        found = {name: seen.array(name) for name in names}
        found["losses"] = found["losses"].astype(np.float32)
        return found, seen.predictions if predicted else outputs
