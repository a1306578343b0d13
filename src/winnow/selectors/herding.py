"""Herding: keep examples whose mean follows the mean of all.

Each pick needs the product of every example with the sum so far, which is a pass over all embeddings: the time is that
of reading them. So a pass reads one byte per number. That gives a lower bound for every example, with the length of
what a byte leaves out, and only examples whose bounds reach the best are multiplied in double precision. The picks are
those of the plain loop, which `tests/oracles/selectors.py` has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.jit import compiled, summing
from ..core.progress import task
from ..core.seeds import uniforms
from .leading_directions import Centred, centred
from .pool import Choice, Pool

__all__ = ["herding"]

TURN = 64  # picks between two steps of the progress bar
MOST = 63  # of the sum in bytes; a product of bytes then stays exact on processors that add pairs in 16 bits
GONE = 1e30  # stands for infinity, in units in which embeddings are at most one long


@registry.selector(needs={"embeddings"}, paper="Welling 2009", cost=registry.Cost("n kept", memory=2))
def herding(pool: Pool, size: int, *, seed: int = 0, shards: int = 1) -> Choice:
    """Repeatedly pick the example that brings the running mean closest to the mean of all.

    Minimises || mean - (sum of picked + x) / (t + 1) || over the x not yet picked. The certificate gives the remaining
    distance between the two means.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Seed of the shards; nothing else is random.
    shards
        Split the examples at random into this many parts and follow the mean of all in each: as many times faster, with
        a remaining distance that is larger by up to the root of the number of parts.
    """
    parts = min(checks.integer("shards", "selector 'herding'", shards, low=1), size)
    given = centred(pool.observed.embeddings)
    order = np.argsort(uniforms(seed, "herding", pool.ids), kind="stable") if parts > 1 else np.arange(pool.n)
    kept, total = [], np.zeros(given.mean.size)
    with task("herding", size) as advance:
        for number in range(parts):
            where = np.sort(order[number::parts])
            count = (size + parts - 1 - number) // parts
            part = given if parts == 1 else Centred(given.rows[where], given.mean, given.squares[where])
            chosen, moved = _follow(part, count, advance)
            kept.append(where[chosen])
            total += moved
    return Choice(np.concatenate(kept), certificate={"mean_gap": float(np.sqrt(np.square(total / size).sum()))})


class _Bytes(NamedTuple):
    """Embeddings as whole numbers from -127 to 127 times a step per row; lengths of rows and of what is left out."""

    whole: NDArray[np.int8]
    step: NDArray[np.float32]
    left_out: NDArray[np.float32]
    length: NDArray[np.float32]


def _in_bytes(given: Centred) -> _Bytes:
    made = _Bytes(np.empty(given.rows.shape, dtype=np.int8), *np.empty((3, len(given.rows)), dtype=np.float32))
    _round(given.rows, given.mean, given.unit, *made)
    return made


@compiled
def _round(rows: Any, mean: Any, unit: float, whole: Any, step: Any, left_out: Any, length: Any) -> None:
    n, dims = rows.shape
    row, per_unit = np.empty(dims), 1.0 / unit
    for i in range(n):
        largest = 0.0
        for d in range(dims):
            row[d] = (rows[i, d] - mean[d]) * per_unit
            largest = max(largest, abs(row[d]))
        step[i] = largest / 127 if largest > 1e-30 else 1.0
        each, off, square = np.float64(step[i]), 0.0, 0.0
        per_step = 1.0 / each
        for d in range(dims):
            whole[i, d] = np.int8(min(max(np.rint(row[d] * per_step), -127.0), 127.0))
            off += (row[d] - whole[i, d] * each) ** 2
            square += row[d] ** 2
        left_out[i], length[i] = np.sqrt(off) * (1 + 1e-6) + 1e-30, np.sqrt(square) * (1 + 1e-6) + 1e-30


def _follow(given: Centred, size: int, advance: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The picks and their sum."""
    unit, total, picked = given.unit, np.zeros(given.mean.size), np.empty(size, dtype=np.int64)
    cost, rough = given.squares / unit**2, _in_bytes(given)
    other, low = np.empty(given.mean.size, dtype=np.int8), np.empty(len(cost), dtype=np.float32)
    products = _multiplier(rough.whole)
    for turn in range(size):
        scale, left, far = _aim(total, other)
        _bound(products(other), cost, rough.step, rough.left_out, rough.length, scale, left, far, low)
        sure = low.argmin()
        value = cost[sure] + 2.0 * _exact(given.rows[sure], given.mean, unit, total)
        where = np.flatnonzero(low <= np.nextafter(np.float32(value), np.float32(np.inf)))
        picked[turn] = _take(given.rows, given.mean, unit, where, cost, total)
        if (turn + 1) % TURN == 0:
            advance(TURN)
    advance(size % TURN)
    return picked, total * unit


def _multiplier(whole: NDArray[np.int8]) -> Callable[[NDArray[np.int8]], NDArray[np.int32]]:
    """A function that multiplies all rows of bytes with one: torch's, at the speed of memory, if torch is there anyway.

    Importing torch would take longer than most selections, and the products are whole numbers, equal in both ways.
    """
    found = np.empty(len(whole), dtype=np.int32)
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "_int_mm"):
        rows, out = torch.from_numpy(whole), torch.from_numpy(found)[:, None]

        def by_torch(other: NDArray[np.int8]) -> NDArray[np.int32]:
            torch._int_mm(rows, torch.from_numpy(other)[:, None], out=out)
            return found

        return by_torch

    def by_numba(other: NDArray[np.int8]) -> NDArray[np.int32]:
        _products(whole, other, found)
        return found

    return by_numba


@compiled
def _products(whole: Any, other: Any, found: Any) -> None:
    n, dims = whole.shape
    for i in range(n):
        product = np.int32(0)
        for d in range(dims):
            product += np.int32(whole[i, d]) * np.int32(other[d])
        found[i] = product


@compiled
def _aim(total: Any, other: Any) -> tuple[float, float, float]:
    """Write the sum as bytes; return their step, the length of what they leave out, and the length of the sum."""
    largest = np.abs(total).max()
    scale, left, far = (largest / MOST if largest > 0 else 1.0), 0.0, 0.0
    for d in range(total.size):
        other[d] = np.int8(np.rint(total[d] / scale))
        left += (total[d] - other[d] * scale) ** 2
        far += total[d] ** 2
    return scale, np.sqrt(left) * (1 + 1e-6), np.sqrt(far) * (1 + 1e-6)


@compiled
def _bound(
    product: Any, cost: Any, step: Any, left_out: Any, length: Any, scale: float, left: float, far: float, low: Any
) -> None:
    """Lower bounds of what is to be minimised; the last term is for rounding to single precision."""
    for i in range(low.size):
        near = cost[i] + 2.0 * scale * step[i] * product[i]
        low[i] = near - 2.0 * (left_out[i] * far + length[i] * left) - 3e-7 * (cost[i] + 2.0 * length[i] * far)


@summing
def _exact(row: Any, mean: Any, unit: float, other: Any) -> float:
    found = 0.0
    for d in range(row.shape[0]):
        found += (row[d] - mean[d]) * other[d]
    return found / unit


@compiled
def _take(rows: Any, mean: Any, unit: float, where: Any, cost: Any, total: Any) -> int:
    """Pick the best of some examples, the first of equals, and add it to the sum."""
    best, value = -1, np.inf
    for i in where:
        if cost[i] < GONE:
            exact = cost[i] + 2.0 * _exact(rows[i], mean, unit, total)
            if exact < value:
                best, value = i, exact
    for d in range(total.size):
        total[d] += (rows[best, d] - mean[d]) / unit
    cost[best] = GONE
    return int(best)
