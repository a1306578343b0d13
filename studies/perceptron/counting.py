"""The information of one more example, counted: students without a fault are sampled, and those that it rules out told.

Faultless students fill a cone. A point drawn evenly from the cone within the unit ball has an even direction, and along
each axis its place is even between the walls, so a walk axis by axis needs no more than one number a step.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from winnow.core import progress, seeds

Array = NDArray[np.float64]

DIMENSIONS, STUDENTS, SWEEPS, SETTLING, FRESH = 60, 600, 4, 400, 400


def counted_gain(alpha: float, keep: float, N: int, sets: int, seed: int) -> dict[str, float]:
    """Mean of -log(part of the faultless students that answers a new kept example rightly), and its standard error."""
    gains = np.empty(sets)
    with progress.task(f"counting students at alpha {alpha:g}, keep {keep:g}", sets) as advance:
        for number in range(sets):
            rng = seeds.stream(seed, "counting", number)
            x = _hardest(rng, round(alpha * N), keep, N)
            fresh = _hardest(rng, FRESH, keep, N)
            students = _walk(np.ascontiguousarray(x.T), STUDENTS, SWEEPS, SETTLING, rng)
            gains[number] = _surprise(students @ fresh.T > 0.0)
            advance(1)
    return {"nats": float(gains.mean()), "standard_error": float(gains.std(ddof=1) / np.sqrt(sets))}


def _hardest(rng: np.random.Generator, kept: int, keep: float, N: int) -> Array:
    """Examples times their label, the teacher being the first axis."""
    margins = np.sort(np.abs(rng.standard_normal(round(kept / keep))))[:kept]
    x: Array = rng.standard_normal((kept, N))
    x[:, 0] = margins
    return x


def _surprise(right: NDArray[np.bool_]) -> float:
    """-log of the part that is right, averaged; a part counted from n students has a bias in 1/n, which halves show."""
    half = len(right) // 2
    least = 0.5 / len(right)
    whole, first, second = (
        float(-np.log(np.maximum(rows.mean(axis=0), least)).mean()) for rows in (right, right[:half], right[half:])
    )
    return 2.0 * whole - 0.5 * (first + second)


@nb.njit(cache=True)
def _walk(columns: Any, students: int, sweeps: int, settling: int, rng: Any) -> Any:
    """Students of the cone in which every example, one a column's place, has a positive margin."""
    N, kept = columns.shape
    J = np.zeros(N)
    J[0] = 0.5  # the teacher makes no mistake
    margins = 0.5 * columns[0]
    out = np.empty((students, N))
    for turn in range(settling + students * sweeps):
        for axis in range(N):
            square = 1.0
            for other in range(N):
                if other != axis:
                    square -= J[other] * J[other]
            high = np.sqrt(max(square, 0.0)) - J[axis]
            low = -np.sqrt(max(square, 0.0)) - J[axis]
            for i in range(kept):
                x = columns[axis, i]
                if x > 0.0:
                    low = max(low, -margins[i] / x)
                elif x < 0.0:
                    high = min(high, -margins[i] / x)
            step = low + (high - low) * rng.random()
            J[axis] += step
            for i in range(kept):
                margins[i] = max(margins[i] + step * columns[axis, i], 0.0)  # rounding must not cross a wall
        # the length is independent of the direction and may be drawn afresh
        scale = rng.random() ** (1.0 / N) / np.sqrt(np.sum(J * J))
        J *= scale
        margins *= scale
        if turn >= settling and (turn - settling) % sweeps == sweeps - 1:
            out[(turn - settling) // sweeps] = J
    return out
