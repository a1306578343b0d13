"""The solver: which examples to remove so that their influence vectors cancel, by annealed swaps.

Temperatures are in units of the root mean square length of the rows. What matters is where they start and end. The rows
of real data span two orders of magnitude in length; the last improvements come from swaps among the short ones, at
temperatures far below those at which random sets freeze. `schedule_for` was fitted to runs on Fashion-MNIST heads and
on small random ones, 500 to 60,000 rows of 36 to 650 numbers, a tenth to nine tenths removed; a factor of two in either
direction costs about a tenth. The result depends on the rows, the counts, the seed and the number of moves, never on
the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.progress import task
from ...core.seeds import drawn_first, number, stream
from .heads import Positions, spans
from .swaps import anneal, summed

__all__ = ["Removal", "Schedule", "default_moves", "solve"]

EACH, FEW, LATER = 400, 3_000_000, 100  # moves per row for few rows, and beyond
LEAST = 10_000_000  # numbers processed by the shortest run
HOT, COOLEST, HOTTEST, COLD, WARMEST = 0.006, 0.03, 0.3, 0.016, 0.01
CHUNK = 100_000_000  # numbers processed between updates of the progress bar and checks for an interrupt
COPY = 4 << 30  # float64 rows of up to this many bytes are copied to float32, which is twice as fast to process


@dataclass(frozen=True)
class Schedule:
    """Temperatures of the first and the last move; geometric in between."""

    hot: float
    cold: float


@dataclass(frozen=True, eq=False)
class Removal:
    """The solver's result: positions in order, the length of their sum, and the work done."""

    removed: Positions
    length: float
    moves: int
    accepted: int


def default_moves(n: int, p: int) -> int:
    """The number of moves for n rows of p numbers."""
    return max(LEAST // (p + 64), min(EACH * n, FEW + LATER * n))


def schedule_for(p: int, moves: int, tail: float) -> Schedule:
    """The calibrated temperatures for this number of moves over rows of p numbers.

    `tail` is the mean fourth power of the rows' lengths over the square of the mean second power: 5 for the heads of
    images, 20 to 100 where a few examples have most of the influence and must be placed first, at higher temperatures.
    """
    hot = float(np.clip(HOT * tail, COOLEST, HOTTEST))
    return Schedule(hot, min(WARMEST, COLD * float(np.sqrt(p / max(moves, 1)))))


def solve(
    rows: NDArray[Any],
    groups: Positions,
    counts: Positions,
    seed: int,
    moves: int,
    schedule: Schedule | None = None,
    ids: NDArray[Any] | None = None,
) -> Removal:
    """Remove counts[g] examples of each group g so that the sum of their rows is short.

    Parameters
    ----------
    rows
        n x p, float32 or float64, which may be memory-mapped.
    groups
        The group of each example.
    counts
        The number to remove per group, at most all.
    seed
        Seed of the first set and of the moves.
    moves
        The number of swaps to try.
    schedule
        None uses the calibrated one.
    ids
        The examples' ids; positions if not given. They decide the order in which examples are laid out, and with it
        the first set and every swap, which are drawn as places in that order.
    """
    p = rows.shape[1]
    order, removed, movable, first, span = _laid_out(groups, counts, seed, ids)
    accepted = done = 0
    if movable.size and moves:
        unit, tail = _lengths(rows)
        plan = schedule_for(p, moves, tail) if schedule is None else schedule
        fast, shrunk = _fast(rows, unit)
        hot, ratio = plan.hot * unit / shrunk, (plan.cold / plan.hot) ** (1.0 / moves)
        counter = np.array([number(seed, "influence moves")], dtype=np.uint64)
        step = max(1, CHUNK // (p + 64))
        again = max(step, 16 * removed.size)  # moves after which the sum is recomputed to remove rounding
        r, energy, fresh = np.zeros(p, dtype=fast.dtype), 0.0, again
        with task("influence swaps", moves) as advance:
            while done < moves:
                if fresh >= again:
                    total = summed(fast, order, removed)
                    r[:], energy, fresh = total, float(np.linalg.norm(total)), 0
                some = min(step, moves - done)
                energy, taken = anneal(
                    fast, order, movable, first, span, r, energy, counter, some, hot * ratio**done, ratio
                )
                done, fresh, accepted = done + some, fresh + some, accepted + taken
                advance(some)
    length = float(np.linalg.norm(summed(rows, order, removed)))
    return Removal(np.sort(order[removed]), length, done, int(accepted))


def _laid_out(
    groups: Positions, counts: Positions, seed: int, ids: NDArray[Any] | None = None
) -> tuple[Positions, ...]:
    """Positions group by group, with each group's removed ones first and at random; and where swaps may go."""
    if ids is None:
        shuffled = stream(seed, "influence start").permutation(groups.size)
    else:
        shuffled = drawn_first(seed, "influence start", ids)
    order = shuffled[np.argsort(groups[shuffled], kind="stable")].astype(np.int64)
    sizes = np.bincount(groups, minlength=counts.size)
    begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    places, kept_from, kept = [], [], []
    for start, size, count in zip(begin.tolist(), sizes.tolist(), counts.tolist(), strict=True):
        places.append(np.arange(start, start + count))
        kept_from.append(np.full(count, start + count))
        kept.append(np.full(count, size - count))
    removed, first, span = (np.concatenate(parts).astype(np.int64) for parts in (places, kept_from, kept))
    can = span > 0
    return order, removed, removed[can], first[can], span[can]


def _lengths(rows: NDArray[Any]) -> tuple[float, float]:
    """The root mean square length of the rows, and how heavy the tail of the lengths is."""
    squares = np.concatenate(
        [np.square(rows[part], dtype=np.float64).sum(axis=1) for part in spans(len(rows), rows.shape[1])]
    )
    mean = float(squares.mean())
    return float(np.sqrt(mean)), float(np.square(squares / mean).mean()) if mean > 0 else 1.0


def _fast(rows: NDArray[Any], unit: float) -> tuple[NDArray[Any], float]:
    """Rows for the loop, in float32 and contiguous if the copy is not too large, and what they were divided by."""
    safe = 1e-12 < unit < 1e12  # so that squares stay in the range of float32
    if rows.dtype == np.float32 and rows.flags.c_contiguous and safe:
        return rows, 1.0
    if rows.size * 8 > COPY and rows.flags.c_contiguous:
        return rows, 1.0
    scale = unit if unit > 0 else 1.0
    out = np.empty(rows.shape, dtype=np.float32)
    for part in spans(len(rows), rows.shape[1]):
        out[part] = rows[part] / scale
    return out, scale
