"""Arithmetic shared by scores: softmax and quantities derived from it, and which epochs a score uses.

Everything here works on the logits of one seed after one epoch (n x classes), in float64: a score loops over seeds and
epochs, so that no float64 copy of all of them is ever held. Probabilities are computed through logarithms, with the
largest logit subtracted first, so logits of any finite size give finite numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks
from ..core.errors import InputError

__all__ = [
    "cross_entropy",
    "epoch_row",
    "labels_of",
    "log_softmax",
    "mean_true_probability",
    "resolve_epoch",
    "rows_within",
    "seed_mean",
    "slabs",
    "softmax",
    "true_probabilities",
    "window_length",
    "window_mean",
]

Floats = NDArray[np.float64]


def log_softmax(logits: NDArray[np.floating]) -> Floats:
    """Logarithm of the softmax over the last axis."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def softmax(logits: NDArray[np.floating]) -> Floats:
    """Softmax over the last axis."""
    return np.exp(log_softmax(logits))


def cross_entropy(logits: NDArray[np.floating], labels: NDArray[np.int64]) -> Floats:
    """Minus the log probability of the true class."""
    return -log_softmax(logits)[np.arange(labels.size), labels]


def labels_of(signals: Signals) -> NDArray[np.int64]:
    """Class numbers; `score` has checked that there are some."""
    return np.asarray(signals.labels, dtype=np.int64)


def slabs(signals: Signals, row: int) -> Iterator[NDArray[np.floating]]:
    """Yield the logits of each seed, after the epoch in that row."""
    for seed in range(signals.logits.shape[0]):
        yield signals.logits[seed, row]


def true_probabilities(logits: NDArray[np.floating], labels: NDArray[np.int64]) -> Floats:
    """Probability of the true class of one seed's logits (epochs x n x classes): epochs x n."""
    out = np.empty(logits.shape[:2])
    for row in range(logits.shape[0]):
        out[row] = np.exp(-cross_entropy(logits[row], labels))
    return out


def mean_true_probability(signals: Signals, rows: int) -> Floats:
    """Mean over seeds and the first `rows` recorded epochs of the probability of the true class."""
    labels = labels_of(signals)
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        total += true_probabilities(signals.logits[seed, :rows], labels).mean(axis=0)
    return total / len(signals.logits)


def seed_mean(signals: Signals, row: int, function: Callable[[NDArray[np.floating]], Floats]) -> Floats:
    """Mean over seeds of a function of the logits after the epoch in that row."""
    total = np.zeros(len(signals))
    for logits in slabs(signals, row):
        total += function(logits)
    return total / len(signals.logits)


def window_mean(
    signals: Signals, window: int, epochs: int | None, owner: str, function: Callable[[Floats], Floats]
) -> Floats:
    """Mean over seeds and sliding windows of a function of the true class's probability (window x n)."""
    rows = rows_within(signals, epochs, owner)
    length = window_length(signals, window, rows, owner)
    labels = labels_of(signals)
    total = np.zeros(len(signals))
    for seed in range(signals.logits.shape[0]):
        chances = true_probabilities(signals.logits[seed, :rows], labels)
        for start in range(rows - length + 1):
            total += function(chances[start : start + length])
    return total / (len(signals.logits) * (rows - length + 1))


def resolve_epoch(signals: Signals, epoch: int | str, owner: str) -> int:
    """Return the recorded epoch meant by a number, by `early` or by `last`.

    `early` is the first recorded epoch at or after a tenth of the planned training, or the last recorded one if
    recording stopped before that. Without a plan, the last recorded epoch counts as the end of training.
    """
    recorded = signals.epochs
    if epoch == "last":
        return recorded[-1]
    if epoch == "early":
        wanted = 0.1 * (signals.planned_epochs or recorded[-1])
        return next((number for number in recorded if number >= wanted - 1e-9), recorded[-1])
    if isinstance(epoch, str):
        checks.choice("epoch", owner, epoch, ("early", "last"))
    number = checks.integer("epoch", owner, epoch, low=1)
    if number not in recorded:
        raise InputError(f"epoch of {owner} must be one that was recorded ({_listed(recorded)}); got {number}.")
    return number


def epoch_row(signals: Signals, epoch: int | str, owner: str) -> int:
    """Return the row of `logits` and `losses` recorded after that epoch."""
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


def window_length(signals: Signals, window: int, rows: int, owner: str, least: int = 2) -> int:
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
