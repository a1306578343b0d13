"""The exact hard-margin student: min |w|^2 / 2 subject to a_i . w >= 1, where a_i = label_i * point_i, without a bias.

A dual active-set method. It starts at w = 0, where no row is active, and takes in violated rows one at a time. All
along, w = sum of u_i a_i over the active rows with u >= 0: it is the exact answer for the active rows alone, and |w|
rises until no row is violated. Write a_p = sum of r_j a_j + z, with z orthogonal to the active rows. Taking in row p
moves w along z and u along -r:
- the full step (1 - a_p . w) / |z|^2 satisfies row p, which then becomes active;
- the dual step min u_j / r_j over r_j > 0 brings a multiplier to 0: if it is the shorter, row j is dropped first;
- where z = 0 and no r_j > 0, no w satisfies all the rows: the data cannot be separated.

The active rows are held as U^T Q, Q with orthonormal rows and U an upper triangle, which does not square the condition
number as their Gram matrix would. At the end w and u are solved again from the active rows, and the conditions of
optimality are checked on all rows.

No BLAS is called. Plain loops in one thread always sum in the same order, so draws solved by several threads neither
compete for cores nor change by a bit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.jit import compiled, summing

__all__ = ["INSEPARABLE", "SOLVED", "UNVERIFIED", "max_margin", "solve_rows"]

Array = NDArray[np.float64]

SOLVED, INSEPARABLE, UNVERIFIED = 0, 1, 2
_DEPENDENT = 1e-12  # |z| / |a| below which a row counts as a combination of the active ones
_NOISE = 1e-13  # r_j / max |r| below which r_j may be rounding
_WIDEST = 1e250  # beyond it, w or its square leaves the numbers there are
_SMALLEST = 1e-11  # a margin this small relative to the longest row could be rounding
_SLACK = 1e-9  # how far the checked answer may miss a constraint, or a multiplier its sign


class _State(NamedTuple):
    """The answer so far (w), the active rows with their multipliers (u) and factors (Q, U), and room to work in."""

    w: Array
    active: NDArray[np.int64]
    u: Array
    Q: Array
    U: Array
    d: Array
    r: Array
    z: Array


@summing
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@summing
def _add(out: Array, scale: float, row: Array) -> None:
    for i in range(out.size):
        out[i] += scale * row[i]


@compiled
def _split(s: _State, size: int, row: Array) -> float:
    """Write row = Q^T d + z with z orthogonal to Q; return |z|, or 0 where z is rounding only."""
    norm = math.sqrt(_dot(row, row))
    s.z[:] = row
    s.d[:size] = 0.0
    left = norm
    for _ in range(3):  # repeat where cancellation has left some of Q in z
        before = left
        for i in range(size):
            part = _dot(s.Q[i], s.z)
            s.d[i] += part
            _add(s.z, -part, s.Q[i])
        left = math.sqrt(_dot(s.z, s.z))
        if left > 0.5 * before or left <= _DEPENDENT * norm:
            break
    return 0.0 if left <= _DEPENDENT * norm or size == row.size else left


@compiled
def _back(U: Array, size: int, right: Array, out: Array) -> None:
    """Solve U out = right."""
    for i in range(size - 1, -1, -1):
        out[i] = (right[i] - _dot(U[i, i + 1 : size], out[i + 1 : size])) / U[i, i]


@compiled
def _append(s: _State, size: int, length: float) -> None:
    """Add to the factors the row that was just split."""
    s.U[:size, size] = s.d[:size]
    s.U[size, :size] = 0.0
    s.U[size, size] = length
    s.Q[size] = s.z / length


@compiled
def _rotate(upper: Array, lower: Array, c: float, s: float) -> None:
    for j in range(upper.size):
        above, below = upper[j], lower[j]
        upper[j] = c * above + s * below
        lower[j] = c * below - s * above


@compiled
def _drop(s: _State, size: int, gone: int) -> None:
    """Make an active row inactive, and rotate neighbouring rows until U is triangular again."""
    for j in range(gone, size - 1):
        s.active[j] = s.active[j + 1]
        s.u[j] = s.u[j + 1]
    for i in range(size):
        for j in range(max(gone, i - 1), size - 1):
            s.U[i, j] = s.U[i, j + 1]
    for i in range(gone, size - 1):
        length = math.hypot(s.U[i, i], s.U[i + 1, i])
        cosine, sine = s.U[i, i] / length, s.U[i + 1, i] / length
        _rotate(s.U[i, i : size - 1], s.U[i + 1, i : size - 1], cosine, sine)
        _rotate(s.Q[i], s.Q[i + 1], cosine, sine)


@compiled
def _take_in(rows: Array, p: int, s: _State, size: int) -> int:
    """Make row p active, dropping rows that block it; return the number of active rows, or -1 if impossible."""
    gained = 0.0
    while True:
        length = _split(s, size, rows[p])
        _back(s.U, size, s.d, s.r)
        noise = 0.0
        for j in range(size):
            noise = max(noise, _NOISE * abs(s.r[j]))
        dual, blocking = np.inf, size
        for j in range(size):
            if s.r[j] > noise and s.u[j] < dual * s.r[j]:
                dual, blocking = s.u[j] / s.r[j], j
        if length == 0.0 and blocking == size:
            return -1
        full = max(0.0, 1.0 - _dot(rows[p], s.w)) / length**2 if length > 0.0 else np.inf
        step = max(0.0, min(dual, full))
        gained += step
        _add(s.u[:size], -step, s.r[:size])
        if length > 0.0:
            _add(s.w, step, s.z)
        if full <= dual:
            _append(s, size, length)
            s.active[size], s.u[size] = p, gained
            return size + 1
        _drop(s, size, blocking)
        size -= 1


@compiled
def _polish(rows: Array, s: _State, size: int) -> bool:
    """Factorise the active rows again, solve a_i . w = 1 on them and refine once; False if they are dependent."""
    for k in range(size):
        length = _split(s, k, rows[s.active[k]])
        if length == 0.0:
            return False
        _append(s, k, length)
    s.w[:] = 0.0
    along = np.zeros(size)  # w in the basis Q
    for _ in range(2):
        for k in range(size):
            s.d[k] = 1.0 - _dot(rows[s.active[k]], s.w)
        for k in range(size):  # solve U^T r = d, and move w by Q^T r
            part = s.d[k] / s.U[k, k]
            _add(s.d[k + 1 : size], -part, s.U[k, k + 1 : size])
            _add(s.w, part, s.Q[k])
            along[k] += part
    _back(s.U, size, along, s.u)
    return True


@compiled
def _optimal(s: _State, size: int, lowest: float, rounding: float) -> bool:
    """Whether every constraint holds and every multiplier has the right sign."""
    pulls = s.u[:size]
    return bool(lowest >= 1.0 - _SLACK - rounding and pulls.min() >= -_SLACK * pulls.max())


@compiled
def _improve(rows: Array, candidates: NDArray[np.int64], s: _State, size: int, tolerance: float, most: int) -> int:
    """Add the worst candidate, up to `most` times or until all hold; return the number of active rows, or -1."""
    for _ in range(most):
        p, worst = len(rows), 1.0 - tolerance
        for i in candidates:
            margin = _dot(rows[i], s.w)
            if margin < worst:
                p, worst = i, margin
        if p == len(rows):
            return size
        size = _take_in(rows, p, s, size)
        if size < 0:
            return -1
    return size


@compiled
def solve_rows(rows: Array) -> tuple[Array, Array, int]:
    """Solve for C-contiguous `rows`, at least one; return w, every row's multiplier, and a status.

    Finding the worst of all rows at every step would cost more than the step itself. So all rows are measured once
    per round, and a round of a few steps looks only at the worst of them.
    """
    count, dimension = rows.shape
    room = min(count, dimension)
    s = _State(np.zeros(dimension), np.empty(room, np.int64), np.zeros(room), np.empty((room, dimension)),
               np.zeros((room, room)), np.empty(room), np.empty(room), np.empty(dimension))  # fmt: skip
    multipliers, margins = np.zeros(count), np.empty(count)
    longest = 0.0
    for i in range(count):
        longest = max(longest, math.sqrt(_dot(rows[i], rows[i])))
    steps, few = max(4, dimension // 16), max(16, dimension // 4)
    size, polished = int(np.int64(0)), False  # a bare 0 would be compiled as a constant, and everything twice
    for _ in range(1000 + 50 * dimension + 5 * count):  # a safety limit, reached only by data at the edge of rounding
        for i in range(count):
            margins[i] = _dot(rows[i], s.w)
        reach = longest * math.sqrt(_dot(s.w, s.w))
        if not reach * _SMALLEST < 1.0:
            return s.w, multipliers, INSEPARABLE
        rounding = 1e-14 * reach
        lowest = margins.min()
        if polished and _optimal(s, size, lowest, rounding):
            for k in range(size):
                multipliers[s.active[k]] = max(0.0, s.u[k])
            return s.w, multipliers, SOLVED
        if lowest < 1.0 - 1e-12 - rounding:
            polished = False
            size = _improve(rows, np.argsort(margins)[:few], s, size, 1e-12 + rounding, steps)
            if size < 0:
                return s.w, multipliers, INSEPARABLE
        elif polished or not _polish(rows, s, size):
            break
        else:
            polished = True
    return s.w, multipliers, UNVERIFIED


def max_margin(points: ArrayLike, labels: ArrayLike) -> tuple[Array, float]:
    """Find the plane through the origin that separates two classes with the largest margin, exactly.

    Parameters
    ----------
    points
        One row per example.
    labels
        -1 or 1 for each row.

    Returns
    -------
    w
        The shortest vector with label * (point . w) >= 1 for all examples, to a relative error near rounding.
    margin
        1 / |w|, the distance from the plane to the nearest example.

    Raises
    ------
    InputError
        If a label is not -1 or 1, or no plane through the origin separates the classes by more than rounding.

    Examples
    --------
    >>> w, margin = max_margin([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> w.round(6).tolist(), round(margin, 4)
    ([1.0, -1.0], 0.7071)
    """
    owner = "max_margin"
    x: NDArray[Any] = checks.array("points", owner, points, ndim=2, dtype=np.float64)
    y: NDArray[Any] = checks.array("labels", owner, labels, ndim=1, rows=len(x), dtype=np.float64)
    if not np.isin(y, (-1.0, 1.0)).all():
        odd = y[~np.isin(y, (-1.0, 1.0))][0]
        raise InputError(f"labels of {owner} must be -1 or 1; got {odd:g}.")
    scale = float(np.abs(x).max())
    if scale > _WIDEST or 0.0 < scale < 1.0 / _WIDEST:
        raise InputError(
            f"points of {owner} must have their largest entry from {1 / _WIDEST:g} to {_WIDEST:g}; got {scale:g}."
        )
    w, _, status = solve_rows(np.ascontiguousarray(x * (y / (scale or 1.0))[:, None]))
    if status == INSEPARABLE:
        raise InputError(
            f"points of {owner} must be separable by a plane through the origin with a margin above {_SMALLEST:g} of "
            f"the longest; the {len(x)} given are not."
        )
    if status == UNVERIFIED:
        raise InputError(
            f"points of {owner} must be separable by more than rounding; for the {len(x)} given, no answer could be "
            f"verified to {_SLACK:g}."
        )
    w = w / scale
    return w, 1.0 / float(np.linalg.norm(w))
