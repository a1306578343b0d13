"""The class balance score: how evenly a set of examples covers the classes.

It is the mean of (smaller count / larger count) over pairs of classes: 1 if all classes are equally frequent; a class
without examples counts 0 in each of its pairs. With the counts sorted, c_1 <= ... <= c_K, the smaller of a pair always
comes first, so the sum over pairs is

    sum over j of (c_1 + ... + c_(j-1)) / c_j        (0 where c_j is 0),

which takes K log K instead of K^2 operations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError

__all__ = ["balance_of_counts", "class_balance", "floors", "in_proportion", "label_floors", "share_out"]


def class_balance(labels: ArrayLike, n_classes: int) -> float:
    """How evenly labels cover the classes, from 0 to 1.

    Parameters
    ----------
    labels
        Class numbers from 0 to `n_classes` - 1.
    n_classes
        The number of classes, including those without examples.

    >>> class_balance([0, 0, 1, 1], 2)
    1.0
    >>> class_balance([0, 0, 0, 0, 1], 2)
    0.25
    """
    total = checks.integer("n_classes", "class_balance", n_classes, low=1)
    given = np.asarray(labels, dtype=np.int64)
    if given.size and (given.min() < 0 or given.max() >= total):
        raise InputError(
            f"labels of class_balance must be class numbers from 0 to {total - 1}; got "
            f"{int(given.min() if given.min() < 0 else given.max())}."
        )
    return balance_of_counts(np.bincount(given, minlength=total))


def balance_of_counts(counts: NDArray[np.int64]) -> float:
    """The same, from the number of examples per class."""
    total = counts.size
    if total == 1:
        return 1.0
    held = np.sort(counts).astype(np.float64)
    before = np.cumsum(held) - held
    shares = np.divide(before, held, out=np.zeros(total), where=held > 0)
    return float(shares.sum() / (total * (total - 1) / 2))


def share_out(capacity: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Split `total` as equally as the capacities of the groups allow; the parts sum to it exactly.

    From the smallest group to the largest, each takes an equal part of what is left, or as much as it can; the rest
    goes to the larger ones. `total` must not exceed the sum of the capacities.
    """
    parts = np.zeros(capacity.size, dtype=np.int64)
    left = total
    order = np.argsort(capacity, kind="stable")
    for done, group in enumerate(order):
        parts[group] = min(int(capacity[group]), left // (capacity.size - done))
        left -= int(parts[group])
    return parts


def in_proportion(capacity: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Split `total` in proportion to the capacities, which are upper bounds; the largest remainders are rounded up.

    >>> in_proportion(np.array([6, 3, 1]), 5).tolist()
    [3, 2, 0]
    """
    exact = capacity * (total / max(1, int(capacity.sum())))
    parts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(parts - exact, kind="stable")
    parts[order[: total - int(parts.sum())]] += 1
    return parts


def floors(counts: NDArray[np.int64], size: int, balance: float) -> NDArray[np.int64]:
    """The guaranteed number of examples per class, for a pool with these counts."""
    each = math.ceil(balance * size / counts.size - 1e-9)
    return share_out(counts, min(size, counts.size * each, int(counts.sum())))


def label_floors(counts: NDArray[np.int64], size: int, balance: float) -> NDArray[np.int64]:
    """The guaranteed number of examples per label, if an example may have several.

    Each of K labels gets balance x size / K, rounded up, or all that have it; where that is more than the size in
    total, as equal parts of the size as possible. An example counts for all its labels, so no label needs the part that
    another one is too rare to use.

    >>> label_floors(np.array([50, 20, 1]), 12, 0.5).tolist()
    [2, 2, 1]
    """
    each = np.minimum(counts, math.ceil(balance * size / counts.size - 1e-9))
    return share_out(each, min(size, int(each.sum())))
