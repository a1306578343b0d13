"""Which weights can be removed: the null vectors of a moment matrix, and the walk along them.

Rows are points (or groups of them) times their weights, columns are moments, each divided by its size, so that an entry
says how much a point contributes to a moment. A null vector u (u^T rows = 0) tells how weights may change: multiplying
row i by 1 - t u_i, for any t, changes no moment. With t = 1 / u_j for the largest |u_j| no weight becomes negative
and row j is removed.

Only loops are compiled, and these make no arrays and call no array function: those of numba take seconds to compile on
first use.

Null vectors come from elimination with row and column pivoting: the row with the largest remainder goes next, by its
largest entry. That reveals the rank, whatever makes the matrix singular, and costs a third of a pivoted QR. Everything
is relative to a row's weight and to a moment's size, so weights over many decades and far outliers lose no digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from ...core.jit import compiled, summing

__all__ = ["factorise", "lighten", "solve_left"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_RANK = 1e-13  # a row whose remainder, relative to a large row, is below this is a combination of those taken
_LARGE = 8  # one row in this many may exceed the large row: relative to an outlier all others would be rounding
_GONE = 1e-15  # relative to its weight: below it, a row is removed
_FLAT = 1e-14  # an entry of a null vector that may be rounding


@summing
def _subtract(row: Array, factor: float, pivot: Array) -> float:
    """Subtract `factor` times the pivot from the row; return the remaining sum of squares."""
    total = 0.0
    for j in range(row.size):
        value = row[j] - factor * pivot[j]
        row[j] = value
        total += value * value
    return total


@summing
def _squares(row: Array, scale: Array) -> float:
    total = 0.0
    for j in range(row.size):
        value = row[j] * scale[j]
        total += value * value
    return total


@compiled
def _swap(a: Array, b: Array) -> None:
    for j in range(a.size):
        a[j], b[j] = b[j], a[j]


@compiled
def _largest(values: Array, first: int) -> int:
    """The place of the largest value from a place on; the first of equal ones."""
    best = first
    for i in range(first + 1, values.size):
        if values[i] > values[best]:
            best = i
    return best


def factorise(rows: Array) -> tuple[int, Index, Index]:
    """Factorise in place into L U with rows and columns in a new order; return the rank and both orders.

    L has ones on its diagonal and lies below it; U lies on and above it.
    """
    count, width = rows.shape
    order, columns = np.arange(count), np.arange(width)
    left = np.square(rows).sum(axis=1)
    place = count - 1 - count // _LARGE
    floor = _RANK**2 * float(np.partition(left, place)[place])
    return int(_eliminate(rows, order, columns, left, floor)), order, columns


@compiled
def _eliminate(rows: Array, order: Index, columns: Index, left: Array, floor: float) -> int:
    count, width = rows.shape
    for s in range(min(count, width)):
        best = _largest(left, s)
        if left[best] <= floor or left[best] == 0.0:
            return int(s)
        if best != s:
            _swap(rows[s], rows[best])
            order[s], order[best] = order[best], order[s]
            left[best] = left[s]
        place = s
        for j in range(s + 1, width):
            if abs(rows[s, j]) > abs(rows[s, place]):
                place = j
        if place != s:
            for i in range(count):
                rows[i, s], rows[i, place] = rows[i, place], rows[i, s]
            columns[s], columns[place] = columns[place], columns[s]
        for i in range(s + 1, count):
            factor = rows[i, s] / rows[s, s]
            rows[i, s] = factor
            left[i] = _subtract(rows[i, s + 1 :], factor, rows[s, s + 1 :])
    return int(min(count, width))


def solve_left(rows: Array, rank: int, order: Index, columns: Index, right: Array) -> Array:
    """A vector u with u^T rows = right, from the factors; zero on rows beyond the rank."""
    u = np.zeros(len(order))
    if rank:
        factors = rows[:rank, :rank].T  # transposed for BLAS, which counts by columns
        upper = blas.dtrsv(factors, right[columns[:rank]], lower=1)
        u[order[:rank]] = blas.dtrsv(factors, upper, lower=0, diag=1)
    return u


@compiled
def _combine(rows: Array, rank: int, vectors: Array) -> None:
    """From the factors, one null vector per row beyond the rank: that row minus its combination of the others."""
    for i in range(rank, len(rows)):
        vector = vectors[i - rank]
        for s in range(rank):
            vector[s] = rows[i, s]
        for s in range(rank - 1, -1, -1):
            _subtract(vector[:s], vector[s], rows[s, :s])
        for s in range(rank):
            vector[s] = -vector[s]
        vector[i] = 1.0


@compiled
def _clear(vectors: Array, chosen: int, last: int, j: int, scale: Array, score: Array) -> None:
    """Make entry j of the other vectors zero using the chosen one, which is then moved to the end."""
    pivot = vectors[chosen]
    for k in range(last + 1):
        if k != chosen:
            _subtract(vectors[k], vectors[k, j] / pivot[j], pivot)
            vectors[k, j] = 0.0
    if chosen != last:
        _swap(vectors[chosen], vectors[last])
    for k in range(last):
        score[k] = _squares(vectors[k], scale)


@compiled
def _step(vector: Array, share: Array, scale: Array, dying: Index) -> int:
    """Move along a null vector until a row is removed; list the removed rows, that row first, and return how many."""
    j, largest = 0, 0.0
    for i in range(share.size):
        size = abs(vector[i]) * scale[i]
        if size > largest:
            j, largest = i, size
    if largest == 0.0:
        return 0
    step = share[j] / vector[j]
    share[j], scale[j] = 0.0, 0.0
    dying[0], dead = j, 1
    for i in range(share.size):
        if scale[i] > 0.0:
            share[i] -= step * vector[i]
            if share[i] > _GONE:
                scale[i] = 1.0 / share[i]
            else:
                share[i], scale[i] = 0.0, 0.0
                dying[dead] = i
                dead += 1
    return dead


@compiled
def _retire(vectors: Array, last: int, i: int, scale: Array, score: Array) -> int:
    """Make sure that no vector restores row i, which may use up one of them; return the last that is left."""
    chosen = last
    for k in range(last):
        if abs(vectors[k, i]) > abs(vectors[chosen, i]):
            chosen = k
    if last < 0 or not abs(vectors[chosen, i]) > _FLAT:
        for k in range(last + 1):
            vectors[k, i] = 0.0
        return last
    _clear(vectors, chosen, last, i, scale, score)
    return last - 1


@compiled
def _walk(vectors: Array, share: Array, target: int, scale: Array, score: Array, dying: Index) -> int:
    """Use up null vectors, the longest step first, until `target` rows are left; return how many are left."""
    alive, last = share.size, len(vectors) - 1
    for k in range(last + 1):
        score[k] = _squares(vectors[k], scale)
    while last >= 0 and alive > target:
        chosen = 0
        for k in range(1, last + 1):
            if score[k] > score[chosen]:
                chosen = k
        dead = _step(vectors[chosen], share, scale, dying)
        if dead == 0:
            break
        alive -= dead
        _clear(vectors, chosen, last, dying[0], scale, score)
        last -= 1
        for d in range(1, dead):
            last = _retire(vectors, last, dying[d], scale, score)
    return alive


def lighten(rows: Array, target: int) -> tuple[Array, int]:
    """Remove rows until `target` are left or those left are independent; rows are overwritten.

    Returns the factor for each row's weight (0 if removed), and how many rows are left.
    """
    rank, order, _ = factorise(rows)
    alive = len(rows)
    share, out = np.ones(alive), np.empty(alive)
    if alive > max(rank, target):
        vectors = np.zeros((alive - rank, alive))
        _combine(rows, rank, vectors)
        score, dying = np.empty(len(vectors)), np.empty(alive, dtype=np.int64)
        alive = int(_walk(vectors, share, target, np.ones(alive), score, dying))
    out[order] = share
    return out, alive
