"""What an epoch's outputs say about each example: a vector per name, and the running mean of the predictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.label_set_logits import seen_logits
from ..core import registry
from ..core.errors import InputError
from .logged_batch import OWNER

__all__ = ["epoch_measures"]

CHUNK = 1 << 15  # logits measured at a time: in float64, what is worked on stays in the processor's cache


def epoch_measures(
    epoch: int,
    outputs: NDArray[np.float32],
    targets: NDArray[Any],
    names: Iterable[str],
    task: str,
    mean: NDArray[np.float32] | None,
    step: float,
) -> dict[str, NDArray[Any]]:
    """Compute what is kept of an epoch, and move the mean of the predictions.

    Parameters
    ----------
    epoch
        Number of the epoch, for errors.
    outputs, targets
        One row per example.
    names
        Arrays of the dynamics; `losses` is one of them, and the only one of a regression.
    task
        Of a regression, losses are squared errors; otherwise outputs are logits of classes or labels.
    mean
        Mean of the predictions so far, changed in place; None if none is kept.
    step
        Weight of this epoch's predictions in the mean.

    Raises
    ------
    InputError
        If a loss is too large for float32.
    """
    n = len(outputs)
    found = {name: np.empty(n, dtype=registry.layout_of(name).dtype) for name in names}
    rows = max(1, CHUNK // outputs.shape[1])
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        some, wanted = outputs[part], targets[part]
        predictions: NDArray[np.floating] = some
        with np.errstate(over="ignore"):  # a loss too large for float32 raises an error that names the example
            if task == "regression":
                found["losses"][part] = np.square(some.astype(np.float64) - wanted).mean(1)
            else:
                seen = seen_logits(task, some, wanted)
                for name, values in found.items():
                    values[part] = seen.array(name)
                predictions = seen.predictions if mean is not None else some
        losses = found["losses"][part]
        if not np.isfinite(losses).all():
            raise InputError(
                f"losses of {OWNER} must be finite; in epoch {epoch} that of position "
                f"{start + int(np.argmin(np.isfinite(losses)))} is too large for float32."
            )
        if mean is not None:
            mean[part] += step * (predictions - mean[part])
    return found
