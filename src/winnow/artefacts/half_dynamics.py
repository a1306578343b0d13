"""Training dynamics in half precision: six bytes per example and epoch instead of seventeen, and ranks survive.

    odds           log-odds of the label's probability p: log p - log(1 - p). Its loss and its probability follow from
                   it. A probability in float16 would be 1 for every easy example; its log-odds goes on growing.
    half_margins   the margin. The sign says right or wrong, that of a zero too, so no array of flags is needed.
    half_errors    the length of the error vector (EL2N) times `SCALE`: it is at most the root of two, so this fits, and
                   lengths down to 2e-9 keep their digits, and those down to 2e-12 are not zero.

What is larger than float16 can hold (log-odds and margins beyond 65,504) is the largest number that it holds.
For one class per example. `benchmarks/dynamics_precision.py` measures what this does to scores and subsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FROM", "HALF", "coded", "decoded"]

HALF = ("odds", "half_margins", "half_errors")  # what is stored, per seed, epoch and example
FROM = {  # what follows, and from what
    "losses": "odds",
    "probabilities": "odds",
    "margins": "half_margins",
    "correct": "half_margins",
    "errors": "half_errors",
}
LARGEST = float(np.finfo(np.float16).max)
SCALE = 2.0**15
BLOCK = 65_536  # examples at a time


def coded(seen: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float16]]:
    """Return what is stored of `losses`, `margins`, `correct` and `errors` of one epoch, or of several."""
    shape = seen["losses"].shape
    flat = {name: np.reshape(values, -1) for name, values in seen.items() if name in FROM}
    made = {name: np.empty(flat["losses"].size, dtype=np.float16) for name in HALF}
    for start in range(0, flat["losses"].size, BLOCK):
        part = slice(start, start + BLOCK)
        losses = flat["losses"][part].astype(np.float64)
        with np.errstate(divide="ignore"):  # the odds of a loss of zero are infinite
            odds = -(losses + np.log(-np.expm1(-losses)))
        signed = np.copysign(np.abs(flat["margins"][part]), np.where(flat["correct"][part] != 0, 1.0, -1.0))
        for name, values in zip(HALF, (odds, signed, flat["errors"][part] * SCALE), strict=True):
            made[name][part] = np.clip(values, -LARGEST, LARGEST)
    return {name: values.reshape(shape) for name, values in made.items()}


def decoded(name: str, stored: NDArray[Any]) -> NDArray[Any]:
    """Return one of `FROM` from what is stored of it."""
    if name == "correct":
        return np.asarray(np.logical_not(np.signbit(stored)))
    if name == "margins":
        return stored.astype(np.float32)
    if name == "errors":
        return np.asarray(stored.astype(np.float64) / SCALE)
    odds = stored.astype(np.float64)
    losses = np.logaddexp(0.0, -odds)
    return np.asarray(losses if name == "losses" else np.exp(-losses))
