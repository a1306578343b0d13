"""k-centre: leave no example far from a kept one.

The distance from an example to its nearest pick only falls as picks are added. So a distance computed some picks ago is
an upper bound: a heap keeps these bounds, and only the example on top is compared with the picks it has not seen; it is
picked if it stays on top. A comparison begins with a few leading coordinates, in which most picks are too far already.
The picks are those of the plain loop over all examples, which `tests/oracles/selectors.py` has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import registry
from ..core.jit import compiled, summing
from ..core.progress import task
from .lazy_heap import heapify, sink
from .leading_directions import centred, coordinates, leading
from .pool import Choice, Pool

__all__ = ["kcenter"]

TURN = 64  # picks between two steps of the progress bar
LEADING = 15
ROUNDING = 1e-6  # of leading coordinates, which are at most one and in single precision


@registry.selector(needs={"embeddings"}, paper="Sener and Savarese 2018", cost=registry.Cost("n kept", memory=4))
def kcenter(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Pick the example farthest from all picked so far, starting with the one nearest to the mean.

    Greedy farthest first: the largest distance from any example to its nearest kept one, the `radius` of the
    certificate, is within a factor of two of the best possible for this size. Equally far examples are taken in order.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    """
    given = centred(pool.observed.embeddings)
    first = int(given.squares.argmin())
    single = given.rows.dtype == np.float32 and float(given.squares.max()) < 1e30  # no square overflows
    rows = given.rows if single else given.rows.astype(np.float64)
    front = coordinates(given, leading(given, min(LEADING, *rows.shape)))
    state = _State(
        rows=rows, front=front, unit=given.unit,
        slack=1.0 + 4.0 * (rows.shape[1] + 8) * float(np.finfo(rows.dtype).eps),
        centres=np.empty((size, rows.shape[1]), dtype=rows.dtype),
        fronts=np.empty((size, front.shape[1]), dtype=np.float32),
        gap=np.full(pool.n, np.inf), seen=np.zeros(pool.n, dtype=np.int64), heap=np.arange(pool.n),
    )  # fmt: skip
    picked = np.empty(size, dtype=np.int64)
    with task("kcenter", size) as advance:
        _start(*state, picked, first)
        advance(1)
        for step in range(1, size, TURN):
            stop = min(step + TURN, size)
            _pick(*state, picked, step, stop)
            advance(stop - step)
        radius = float(state.gap[_top(*state, size)])
    return Choice(picked, certificate={"radius": float(np.sqrt(max(radius, 0.0)))})


class _State(NamedTuple):
    """Examples and their leading coordinates; centres and theirs; distances to the centres seen; the heap of those."""

    rows: NDArray[Any]
    front: NDArray[np.float32]
    unit: float
    slack: float
    centres: NDArray[Any]
    fronts: NDArray[np.float32]
    gap: NDArray[np.float64]
    seen: NDArray[np.int64]
    heap: NDArray[np.int64]


@summing
def _nearest(
    row: Any, leads: Any, unit: float, slack: float, centres: Any, fronts: Any, first: int, stop: int, best: float
) -> float:
    """The smallest of a squared distance and those to some centres.

    What is farther in the leading coordinates is no nearer; nor is what is farther in the rows' own precision by more
    than `slack`: all terms are positive, so rounding is relative. Only the rest is computed in double precision.
    """
    limit = best * slack
    near = np.float32(((np.sqrt(best) / unit + ROUNDING) ** 2) * slack)
    for c in range(first, stop):
        lead, apart = fronts[c], np.float32(0)
        for k in range(leads.shape[0]):
            apart += (lead[k] - leads[k]) * (lead[k] - leads[k])
        if apart > near:
            continue
        centre = centres[c]
        total = row[0] * 0
        for d in range(row.shape[0]):
            total += (row[d] - centre[d]) * (row[d] - centre[d])
        if total > limit:
            continue
        exact = 0.0
        for d in range(row.shape[0]):
            step = np.float64(row[d]) - np.float64(centre[d])
            exact += step * step
        if exact < best:
            best = exact
            limit = best * slack
            near = np.float32(((np.sqrt(best) / unit + ROUNDING) ** 2) * slack)
    return best


@compiled
def _top(
    rows: Any, front: Any, unit: float, slack: float, centres: Any, fronts: Any, gap: Any, seen: Any, heap: Any,
    count: int,
) -> int:  # fmt: skip
    """The example farthest from the first `count` centres."""
    while seen[heap[0]] < count:
        i = heap[0]
        gap[i] = _nearest(rows[i], front[i], unit, slack, centres, fronts, seen[i], count, gap[i])
        seen[i] = count
        sink(gap, heap, 0)
    return int(heap[0])


@compiled
def _take(
    rows: Any, front: Any, centres: Any, fronts: Any, gap: Any, seen: Any, picked: Any, step: int, best: int
) -> None:
    """Make an example a centre; it is never picked again, however many copies there are."""
    picked[step], centres[step], fronts[step] = best, rows[best], front[best]
    gap[best], seen[best] = -1.0, picked.size


@compiled
def _start(
    rows: Any, front: Any, unit: float, slack: float, centres: Any, fronts: Any, gap: Any, seen: Any, heap: Any,
    picked: Any, first: int,
) -> None:  # fmt: skip
    """Pick the first, and compare all others with it."""
    _take(rows, front, centres, fronts, gap, seen, picked, 0, first)
    for i in range(gap.size):
        if i != first:
            exact = 0.0
            for d in range(rows.shape[1]):
                step = np.float64(rows[i, d]) - np.float64(rows[first, d])
                exact += step * step
            gap[i], seen[i] = exact, 1
    heapify(gap, heap)


@compiled
def _pick(
    rows: Any, front: Any, unit: float, slack: float, centres: Any, fronts: Any, gap: Any, seen: Any, heap: Any,
    picked: Any, first: int, stop: int,
) -> None:  # fmt: skip
    """Make the picks from one number to another."""
    for step in range(first, stop):
        best = _top(rows, front, unit, slack, centres, fronts, gap, seen, heap, step)
        _take(rows, front, centres, fronts, gap, seen, picked, step, best)
        sink(gap, heap, 0)
