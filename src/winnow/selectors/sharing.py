"""Sharing a number out over groups that can each take only so much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_proportion", "share_out"]


def share_out(capacity: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Split `total` as equally as the groups' capacities allow; the parts sum to it exactly.

    From the smallest group upward each takes an equal part of what is left, or all it can; what it cannot take is
    left to the larger ones. `total` must not exceed the sum of the capacities.
    """
    parts = np.zeros(capacity.size, dtype=np.int64)
    left = total
    order = np.argsort(capacity, kind="stable")
    for done, group in enumerate(order):
        parts[group] = min(int(capacity[group]), left // (capacity.size - done))
        left -= int(parts[group])
    return parts


def in_proportion(capacity: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Split `total` in proportion to the capacities, which bound it; the largest remainders take what rounding leaves.

    >>> in_proportion(np.array([6, 3, 1]), 5).tolist()
    [3, 2, 0]
    """
    exact = capacity * (total / max(1, int(capacity.sum())))
    parts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(parts - exact, kind="stable")
    parts[order[: total - int(parts.sum())]] += 1
    return parts
