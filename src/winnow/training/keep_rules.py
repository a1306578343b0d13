"""Rules of the `DynamicSampler`: with what probability each example is visited in the next epoch.

A rule maps the last losses, `prune` and the progress of the training (0 to 1) to probabilities in (0, 1]. A visited
example weighs 1 / probability, so that under any rule the expected gradient of an epoch is that of an epoch on
everything. One more rule is one more function here; `DynamicSampler(rule=...)` takes any function of this form too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["RULES", "KeepRule", "by_loss", "by_mean"]

KeepRule = Callable[[NDArray[np.float64], float, float], NDArray[np.float64]]
LEAST = 0.1  # smallest probability of `by_loss`, so that no weight is above 10


def by_mean(losses: NDArray[np.float64], prune: float, progress: float) -> NDArray[np.float64]:
    """InfoBatch: skip an example below the mean loss with probability `prune`; visit all others."""
    return np.where(losses < losses.mean(), 1 - prune, 1.0)


def by_loss(losses: NDArray[np.float64], prune: float, progress: float) -> NDArray[np.float64]:
    """Probabilities in proportion to the loss, cut at `LEAST` and 1, so that a share `prune` is skipped.

    The factor c with mean(clip(c l, LEAST, 1)) = 1 - prune is found by bisection: the mean grows with c. Sorted losses
    and their running sums give the mean for any c without a pass over the losses.
    """
    wanted = max(1 - prune, LEAST)
    positive = losses[losses > 0]
    if not positive.size or (positive.size + LEAST * (losses.size - positive.size)) / losses.size <= wanted:
        return np.where(losses > 0, 1.0, wanted)  # too many losses are zero: the others cannot make up for them
    ordered = np.sort(losses)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    low, high = LEAST / float(ordered[-1]), 1 / float(positive.min())
    while high > low * (1 + 1e-9):  # of the logarithm: a single tiny loss makes the range wide
        middle = math.sqrt(low) * math.sqrt(high)
        cut, full = (int(ordered.searchsorted(level / middle)) for level in (LEAST, 1.0))
        total = LEAST * cut + middle * (sums[full] - sums[cut]) + (losses.size - full)
        if total < wanted * losses.size:
            low = middle
        else:
            high = middle
    return np.clip(high * losses, LEAST, 1)


RULES: dict[str, KeepRule] = {"mean": by_mean, "loss": by_loss}
