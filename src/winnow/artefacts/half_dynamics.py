"""Training dynamics in half precision: six bytes per example and epoch instead of seventeen, and ranks survive.

    odds      log-odds of the label's probability p: log p - log(1 - p). Its loss and its probability follow from it.
              A probability in float16 would be 1 for every easy example; its log-odds goes on growing.
    margins   as they are. The sign says right or wrong, that of a zero too, so no array of flags is needed.
    errors    as they are: the length of the error vector, which has its digits where it is small.

For one class per example. `benchmarks/dynamics_precision.py` measures what this does to scores and subsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FROM", "HALF", "coded", "decoded"]

HALF = ("odds", "margins", "errors")  # what is stored, per seed, epoch and example
FROM = {"losses": "odds", "probabilities": "odds", "correct": "margins"}  # what follows, and from what
LARGEST = float(np.finfo(np.float16).max)


def coded(seen: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float16]]:
    """Return what is stored of `losses`, `margins`, `correct` and `errors` of one epoch."""
    losses = seen["losses"].astype(np.float64)
    with np.errstate(divide="ignore"):  # the odds of a loss of zero are infinite
        odds = -(losses + np.log(-np.expm1(-losses)))
    signed = np.copysign(np.abs(seen["margins"]), np.where(seen["correct"] != 0, 1.0, -1.0))
    made = {"odds": odds, "margins": signed, "errors": seen["errors"]}
    return {name: np.clip(values, -LARGEST, LARGEST).astype(np.float16) for name, values in made.items()}


def decoded(name: str, stored: NDArray[Any]) -> NDArray[Any]:
    """Return losses or probabilities from the stored odds, or `correct` from the stored margins."""
    if name == "correct":
        return np.asarray(np.logical_not(np.signbit(stored)))
    odds = stored.astype(np.float64)
    losses = np.logaddexp(0.0, -odds)
    return np.asarray(losses if name == "losses" else np.exp(-losses))
