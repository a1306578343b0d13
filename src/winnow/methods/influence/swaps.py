"""The solver's inner loop: annealed swaps between a removed and a kept example.

The state is r, the sum of the removed rows. A move draws a removed example a and a kept one b of the same group and
computes |r + s_b - s_a| in O(p). It is accepted if that is at most |r| - T log u with u uniform in (0, 1]: the
Metropolis rule. Stopping the sum early once it passes the limit would halve the speed, by preventing vectorisation.

Random numbers come from splitmix64, implemented here so that the plain reference in the tests draws the same ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.jit import compiled, inlined, summing

__all__ = ["anneal", "summed"]

Positions = NDArray[np.int64]
GOLDEN, FIRST, SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
S30, S27, S31, S32, S11 = (np.uint64(bits) for bits in (30, 27, 31, 32, 11))
LOW = np.uint64(0xFFFFFFFF)


@inlined
def mixed(word: Any) -> Any:
    """The splitmix64 output for a counter."""
    word = (word ^ (word >> S30)) * FIRST
    word = (word ^ (word >> S27)) * SECOND
    return word ^ (word >> S31)


@summing
def anneal(
    rows: NDArray[Any],
    order: Positions,
    slots: Positions,
    first: Positions,
    span: Positions,
    r: NDArray[Any],
    energy: float,
    counter: NDArray[np.uint64],
    moves: int,
    hot: float,
    ratio: float,
) -> tuple[float, int]:
    """Make the given number of moves; `order`, `r` and `counter` are changed in place.

    Parameters
    ----------
    rows
        n x p, one influence vector per example.
    order
        All positions; those in `slots` are removed.
    slots
        Places in `order` of removed examples that can be swapped.
    first, span
        For each of `slots`, where in `order` the kept examples of its group begin, and how many there are.
    r, energy
        Sum of the removed rows, in the dtype of `rows`, and its length.
    counter
        The state of the random numbers.
    moves
        The number of moves.
    hot, ratio
        Temperature of the first move, in the units of the rows, and the factor from one move to the next.

    Returns
    -------
    energy, accepted
        The length of `r` at the end, and how many moves were accepted.
    """
    p = rows.shape[1]
    many = np.uint64(slots.size)
    word = counter[0]
    temperature = hot
    accepted = 0
    for _ in range(moves):
        word += GOLDEN
        draw = mixed(word)
        t = np.int64(((draw >> S32) * many) >> S32)
        a = slots[t]
        b = first[t] + np.int64(((draw & LOW) * np.uint64(span[t])) >> S32)
        word += GOLDEN
        u = (np.float64(mixed(word) >> S11) + 1.0) * (1.0 / 9007199254740992.0)
        limit = energy - temperature * math.log(u)
        most = limit * limit
        temperature *= ratio
        leaving, joining = rows[order[a]], rows[order[b]]
        square = r[0] * 0
        for k in range(p):
            d = r[k] + (joining[k] - leaving[k])
            square += d * d
        if square <= most:
            for k in range(p):
                r[k] += joining[k] - leaving[k]
            energy = math.sqrt(square)
            swapped = order[a]
            order[a] = order[b]
            order[b] = swapped
            accepted += 1
    counter[0] = word
    return energy, accepted


@compiled
def summed(rows: NDArray[Any], order: Positions, places: Positions) -> NDArray[np.float64]:
    """The sum of the rows at some places of the order, in double precision."""
    total = np.zeros(rows.shape[1])
    for place in places:
        row = rows[order[place]]
        for k in range(total.size):
            total[k] += row[k]
    return total
