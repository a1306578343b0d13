"""The plan of one epoch of a `DynamicSampler`: which examples, in what order and batches, with what weights.

Draws are systematic: on a line of the examples in random order, each of length p_i, those hit by the points u, u + 1,
... are visited, with u uniform in [0, 1). Each example has probability p_i, and the number visited varies by
less than one from epoch to epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from .keep_rules import KeepRule

__all__ = ["EpochPlan", "batch_bounds", "probabilities", "remaining", "visit"]


@dataclass(frozen=True, eq=False)
class EpochPlan:
    """The order of an epoch, the weight of every example of the data set, and where batches begin and end."""

    order: NDArray[np.int64]
    weights: NDArray[np.float32]
    bounds: NDArray[np.int64]


def remaining(owner: str, n: int, leave_out: ArrayLike | None) -> NDArray[np.int64]:
    """Return the positions that may be visited."""
    if leave_out is None:
        return np.arange(n)
    out = np.asarray(leave_out)
    if out.dtype == bool and out.shape == (n,):
        out = np.flatnonzero(out)
    if out.ndim != 1 or (out.size and (out.dtype.kind not in "iu" or out.min() < 0 or out.max() >= n)):
        raise InputError(f"leave_out of {owner} must be positions from 0 to {n - 1}, or True or False for each.")
    rest = np.setdiff1d(np.arange(n), out)
    if not rest.size:
        raise InputError(f"leave_out of {owner} must leave some examples; it leaves none of {n}.")
    return rest


def visit(keep: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw each position with its probability; returned in random order."""
    line = rng.permutation(keep.size)
    sure = keep[line] >= 1
    unsure = line[~sure]
    return rng.permutation(np.concatenate([line[sure], unsure[hit(keep[unsure], rng.random())]]))


def hit(lengths: NDArray[np.float64], u: float) -> NDArray[np.bool_]:
    """Which parts of the line, placed end to end in this order, one of the points u, u + 1, ... falls on."""
    return np.diff(np.ceil(np.cumsum(lengths) - u), prepend=0) > 0


def batch_bounds(start: int, size: int, share: int, processes: int) -> NDArray[np.int64]:
    """Where batches begin and end: as few as `share` allows, of equal size but for one, none empty in any process."""
    rest = size - start
    count = -(-rest // share)
    if rest < count * processes:
        count = max(1, rest // processes)
    return start + np.arange(count + 1) * rest // max(count, 1)


def probabilities(rule: KeepRule, losses: NDArray[np.float32], prune: float, progress: float) -> NDArray[np.float64]:
    """Ask a rule; raise if its answer is not one probability per loss."""
    found = np.asarray(rule(losses.astype(np.float64), prune, progress), dtype=np.float64)
    if found.shape != losses.shape or not ((found > 0) & (found <= 1)).all():
        raise InputError(
            f"rule of DynamicSampler must return a probability in (0, 1] for each of {losses.size} losses."
        )
    return found
