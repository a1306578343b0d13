"""Strata (CCS): cover the range of difficulty evenly; if much is removed, without the hardest examples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..artefacts.quotas import share_out
from ..core import checks, registry
from ..core.seeds import uniforms
from .pool import Choice, Pool
from .row_blocks import Block
from .row_quotas import first_rows
from .row_turn import Chosen, Key, Turn

__all__ = ["strata"]

REMOVED, DROPPED = (0.5, 0.8, 0.9), (0.0, 0.2, 0.3)  # how much of the hardest to drop, by the fraction removed


OWNER = "selector 'strata'"
TIES = ("strata", "ties")


def strata_rows(turn: Turn, *, drop: float | None = None, bins: int = 50) -> Chosen:
    """The same over any number of rows."""
    count, fraction = _settings(turn.keep, drop, bins)
    groups = turn.sizes.size
    dropped = np.array(
        [min(round(fraction * n), n - size) for n, size in zip(turn.counts, turn.sizes, strict=True)], dtype=np.int64
    )
    hardest = Key(
        ("scores",),
        lambda block, _: -block["scores"],
        ("ids",),
        lambda block: uniforms(turn.seed, TIES, block["ids"]),
    )
    gone = first_rows(turn, hardest, np.where(turn.sizes > 0, dropped, 0))
    left = replace(turn, taken=gone if turn.taken is None else gone | turn.taken)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    for block, group in left.blocks(("scores",)):
        free = group >= 0
        np.minimum.at(low, group[free], block["scores"][free])
        np.maximum.at(high, group[free], block["scores"][free])

    def place(block: Block, group: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.full(group.size, -1)
        free = np.flatnonzero(group >= 0)
        own = group[free]
        found[free] = own * count + _places(block["scores"][free], low[own], high[own] - low[own], count)
        return found

    held = np.zeros(groups * count, dtype=np.int64)
    for block, group in left.blocks(("scores",)):
        where = place(block, group)
        held += np.bincount(where[where >= 0], minlength=held.size)
    of = held.reshape(groups, count)
    parts = np.array([share_out(row, size) for row, size in zip(of, turn.sizes.tolist(), strict=True)])
    key = Key(("ids",), lambda block, _: uniforms(turn.seed, "strata", block["ids"]))
    chosen = first_rows(left, key, parts.reshape(-1), place, ("scores",))
    filled = np.count_nonzero(of, axis=1).tolist()
    return chosen, [{"dropped": a, "strata": b} for a, b in zip(dropped.tolist(), filled, strict=True)]


@registry.selector(needs={"scores"}, paper="Zheng et al. 2023 (CCS)", default_score="aum", rows=strata_rows)
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
    count, fraction = _settings(pool.keep, drop, bins)
    dropped = min(round(fraction * pool.n), pool.n - size)
    ties = uniforms(seed, TIES, pool.ids)
    left = np.sort(np.lexsort((ties, -pool.difficulty))[dropped:])
    place = stratum(pool.difficulty[left], count)
    held = np.bincount(place, minlength=count)
    parts = share_out(held, size)
    by_stratum = np.lexsort((uniforms(seed, "strata", pool.ids[left]), place))
    turn = np.arange(left.size) - (np.cumsum(held) - held)[place[by_stratum]]  # within the stratum
    picked = left[by_stratum[turn < parts[place[by_stratum]]]]
    return Choice(picked, certificate={"dropped": dropped, "strata": int(np.count_nonzero(held))})


def _settings(keep: float, drop: float | None, bins: int) -> tuple[int, float]:
    """The number of strata, and the fraction of the hardest to drop."""
    count = checks.integer("bins", OWNER, bins, low=1)
    if drop is None:
        return count, float(np.interp(1.0 - keep, REMOVED, DROPPED))
    return count, checks.number("drop", OWNER, drop, low=0.0, high=1.0, open_high=True)


def stratum(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The index of the equal-width stratum, out of `count`, that each value lies in."""
    low, width = values.min(), np.ptp(values)
    return _places(values, np.full(values.size, low), np.full(values.size, width), count)


def _places(
    values: NDArray[np.float64], low: NDArray[np.float64], width: NDArray[np.float64], count: int
) -> NDArray[np.int64]:
    share = np.divide(values - low, width, out=np.zeros(values.size), where=width > 0)
    return np.asarray(np.minimum((share * count).astype(np.int64), count - 1))
