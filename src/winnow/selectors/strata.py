"""Strata (CCS): cover the range of difficulty evenly; if much is removed, without the hardest examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts.quotas import share_out
from ..core import checks, registry
from ..core.seeds import uniforms
from .pool import Choice, Pool

__all__ = ["strata"]

REMOVED, DROPPED = (0.5, 0.8, 0.9), (0.0, 0.2, 0.3)  # how much of the hardest to drop, by the fraction removed


@registry.selector(needs={"scores"}, paper="Zheng et al. 2023 (CCS)", default_score="aum")
def strata(pool: Pool, size: int, *, seed: int = 0, drop: float | None = None, bins: int = 50) -> Choice:
    """Draw evenly from equal-width strata of the score; if much is removed, without the hardest.

    Strata are filled from the smallest up: each gives an equal part of what is still needed, or all it has, and the
    rest is distributed over the larger ones. Within a stratum the draw is uniform.

    Parameters
    ----------
    pool
        Must have scores.
    size
        How many to keep.
    seed
        Seed of the draw.
    drop
        Fraction of the hardest examples to drop first. None follows the fraction removed: nothing at 50 % or less, 0.2
        at 80 %, 0.3 at 90 % or more, linear in between. It is better chosen on validation data. If too few examples
        would be left, less is dropped.
    bins
        The number of strata.
    """
    owner = "selector 'strata'"
    count = checks.integer("bins", owner, bins, low=1)
    if drop is None:
        fraction = float(np.interp(1.0 - pool.keep, REMOVED, DROPPED))
    else:
        fraction = checks.number("drop", owner, drop, low=0.0, high=1.0, open_high=True)
    dropped = min(round(fraction * pool.n), pool.n - size)
    ties = uniforms(seed, ("strata", "ties"), pool.ids)
    left = np.sort(np.lexsort((ties, -pool.difficulty))[dropped:])
    place = stratum(pool.difficulty[left], count)
    held = np.bincount(place, minlength=count)
    parts = share_out(held, size)
    by_stratum = np.lexsort((uniforms(seed, "strata", pool.ids[left]), place))
    turn = np.arange(left.size) - (np.cumsum(held) - held)[place[by_stratum]]  # within the stratum
    picked = left[by_stratum[turn < parts[place[by_stratum]]]]
    return Choice(picked, certificate={"dropped": dropped, "strata": int(np.count_nonzero(held))})


def stratum(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The index of the equal-width stratum, out of `count`, that each value lies in."""

    low, width = values.min(), np.ptp(values)
    if width == 0:
        return np.zeros(values.size, dtype=np.int64)
    place = ((values - low) / width * count).astype(np.int64)
    return np.asarray(np.minimum(place, count - 1))
