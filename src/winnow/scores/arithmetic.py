"""Arithmetic shared by scores: means over seeds, windows, and which epochs a score uses.

Everything here works on one seed after one epoch, in float64: a score loops over seeds and epochs, so that no float64
copy of all of them is ever held. `Signals.after_epoch` gives losses, probabilities, margins, correctness and errors as
recorded, or computes them from logits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..artefacts.labelled_logits import log_softmax
from ..artefacts.signals import LOGITS
from ..core import checks
from ..core.errors import InputError

__all__ = [
    "binary_entropy",
    "epoch_row",
    "labels_of",
    "log_softmax",
    "logits_mean",
    "mean_true_probability",
    "parts_of",
    "resolve_epoch",
    "rows_within",
    "seed_mean",
    "softmax",
    "trainings",
    "usual_window",
    "window_length",
    "window_mean",
]

Floats = NDArray[np.float64]
EXAMPLES = 1 << 16  # worked on at a time, all epochs together


def softmax(logits: NDArray[np.floating]) -> Floats:
    """Softmax over the last axis."""
    return np.exp(log_softmax(logits))


def binary_entropy(chances: Floats) -> Floats:
    """Entropy of being or not being, in nats, for each probability."""
    least = np.finfo(np.float64).tiny
    rest = 1.0 - chances
    return np.asarray(-(chances * np.log(np.maximum(chances, least)) + rest * np.log(np.maximum(rest, least))))


def labels_of(signals: Signals) -> NDArray[np.int64]:
    """Class numbers; `score` has checked that there are some."""
    return np.asarray(signals.labels, dtype=np.int64)


def trainings(signals: Signals, name: str) -> int:
    """The number of seeds of an array, held or computed from logits."""
    return int(signals.arrays[signals.origin(name)].shape[0])


def seed_mean(signals: Signals, name: str, row: int) -> Floats:
    """Mean over seeds of an array of the dynamics, after the epoch in that row."""
    seeds = trainings(signals, name)
    total = np.zeros(len(signals))
    for seed in range(seeds):
        total += signals.after_epoch(name, seed, row)
    return total / seeds


def logits_mean(signals: Signals, row: int, function: Callable[[NDArray[np.floating]], Floats]) -> Floats:
    """Mean over seeds of a function of the logits after the epoch in that row."""
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        for part in parts_of(signals.logits[seed, row]):
            total[part] += function(signals.logits[seed, row, part])
    return total / len(signals.logits)


def parts_of(logits: NDArray[np.floating]) -> Iterator[slice]:
    """Rows to work on at a time, so that float64 copies of logits stay small."""
    rows = max(1, LOGITS // logits.shape[-1])
    for start in range(0, len(logits), rows):
        yield slice(start, start + rows)


def mean_true_probability(signals: Signals, rows: int, start: int = 0, stop: int | None = None) -> Floats:
    """Mean over seeds and the first `rows` recorded epochs of the probability of the true class.

    Of all examples, or of those at the positions from `start` to `stop`.
    """
    seeds = trainings(signals, "probabilities")
    end = len(signals) if stop is None else stop
    total = np.zeros(end - start)
    for seed in range(seeds):
        for first in range(start, end, EXAMPLES):
            part = slice(first, min(first + EXAMPLES, end))
            total[part.start - start : part.stop - start] += _chances(signals, seed, rows, part).mean(axis=0)
    return total / seeds


def window_mean(
    signals: Signals, window: int | None, epochs: int | None, owner: str, function: Callable[[Floats], Floats]
) -> Floats:
    """Mean over seeds and sliding windows of a function of the true class's probability (window x n)."""
    rows = rows_within(signals, epochs, owner)
    length = window_length(usual_window(rows) if window is None else window, rows, owner)
    seeds = trainings(signals, "probabilities")
    total = np.zeros(len(signals))
    for seed in range(seeds):
        for part in _parts(len(signals)):
            chances = _chances(signals, seed, rows, part)
            for start in range(rows - length + 1):
                total[part] += function(chances[start : start + length])
    return total / (seeds * (rows - length + 1))


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, EXAMPLES):
        yield slice(start, start + EXAMPLES)


def _chances(signals: Signals, seed: int, rows: int, part: slice) -> Floats:
    """Probability of the true class of some examples in the first recorded epochs of one seed: rows x examples."""
    found = [signals.after_epoch("probabilities", seed, row, part) for row in range(rows)]
    return np.array(found, dtype=np.float64)


def resolve_epoch(signals: Signals, epoch: int | str, owner: str) -> int:
    """Return the recorded epoch meant by a number, by `early` or by `last`.

    `early` is the first recorded epoch at or after a tenth of the planned training, or the last recorded one if
    recording stopped before that. Without a plan, the last recorded epoch counts as the end of training.
    """
    recorded = signals.epochs
    if isinstance(epoch, str) and epoch == "last":  # an array is compared item by item
        return recorded[-1]
    if isinstance(epoch, str) and epoch == "early":
        wanted = 0.1 * (signals.planned_epochs or recorded[-1])
        return next((number for number in recorded if number >= wanted - 1e-9), recorded[-1])
    if isinstance(epoch, str):
        checks.choice("epoch", owner, epoch, ("early", "last"))
    number = checks.integer("epoch", owner, epoch, low=1)
    if number not in recorded:
        raise InputError(f"epoch of {owner} must be one that was recorded ({_listed(recorded)}); got {number}.")
    return number


def epoch_row(signals: Signals, epoch: int | str, owner: str) -> int:
    """Return the row of logits or dynamics recorded of that epoch."""
    return signals.epochs.index(resolve_epoch(signals, epoch, owner))


def rows_within(signals: Signals, epochs: int | None, owner: str) -> int:
    """Return how many recorded epochs lie within the first `epochs` of training; None means all."""
    if epochs is None:
        return len(signals.epochs)
    limit = checks.integer("epochs", owner, epochs, low=1)
    rows = sum(number <= limit for number in signals.epochs)
    if rows == 0:
        raise InputError(f"epochs of {owner} must reach the first recorded epoch ({signals.epochs[0]}); got {limit}.")
    return rows


def usual_window(rows: int) -> int:
    """Return half of the recorded epochs, at least 2 and at most 10: a short training has a window too."""
    return min(max(rows // 2, 2), 10)


def window_length(window: int, rows: int, owner: str, least: int = 2) -> int:
    """Return the window; raise if fewer epochs were recorded."""
    length = checks.integer("window", owner, window, low=least)
    if rows < length:
        raise InputError(
            f"window of {owner} must be at most the number of recorded epochs it may use ({rows}); got "
            f"{length}: observe more epochs or pass a smaller window=."
        )
    return length


def _listed(epochs: tuple[int, ...]) -> str:
    if len(epochs) <= 8:
        return ", ".join(map(str, epochs))
    if list(epochs) == list(range(epochs[0], epochs[-1] + 1)):
        return f"{epochs[0]} to {epochs[-1]}"
    return f"{', '.join(map(str, epochs[:6]))}, ... {epochs[-1]}"
