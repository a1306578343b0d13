"""The class balance score: how evenly a set of examples covers the classes.

Mean over pairs of classes of (smaller count / larger count); 1 where all classes are equally frequent, and a
class without any example counts 0 in each of its pairs. With the counts sorted, c_1 <= ... <= c_K, the
smaller of a pair always comes first, so the sum over pairs is

    sum over j of (c_1 + ... + c_(j-1)) / c_j        (0 where c_j is 0),

K log K work instead of K^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..errors import InputError

__all__ = ["class_balance"]


def class_balance(labels: ArrayLike, n_classes: int) -> float:
    """How evenly labels cover the classes, from 0 to 1.

    Parameters
    ----------
    labels
        Class numbers from 0 to `n_classes` - 1.
    n_classes
        How many classes there are; those that no label names count too.

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
    if total == 1:
        return 1.0
    counts = np.sort(np.bincount(given, minlength=total)).astype(np.float64)
    before = np.cumsum(counts) - counts
    shares = np.divide(before, counts, out=np.zeros(total), where=counts > 0)
    return float(shares.sum() / (total * (total - 1) / 2))
