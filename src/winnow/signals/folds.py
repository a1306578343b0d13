"""Folds: which examples are held out together, drawn by id.

Classes are spread evenly over the folds. Examples of one group, such as near-duplicates or the pictures of one patient,
are in the same fold: a network that was trained on a copy would know the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.seeds import drawn_first

__all__ = ["fold_numbers"]


def fold_numbers(
    ids: NDArray[Any],
    folds: int,
    seed: int,
    labels: NDArray[Any] | None = None,
    groups: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Return the fold of each example, from 0 to folds - 1.

    Parameters
    ----------
    ids
        Ids of the examples, which decide the draw.
    folds
        Number of folds.
    seed
        Seed of the draw.
    labels
        Class numbers; without them, examples are spread as they are drawn.
    groups
        A number or word per example; those of equal groups are in one fold. A group counts as an example of the class
        of its first member by id.

    Raises
    ------
    InputError
        If there are fewer groups than folds, or not one group per example.
    """
    checks.integer("folds", "out-of-fold predictions", folds, low=2)
    n = ids.size
    order = np.argsort(ids, kind="stable")
    if groups is None:
        group = np.arange(n)
    else:
        words = np.asarray(groups)
        if words.shape != (n,):
            raise InputError(f"groups must have one entry per example, {n}; got shape {words.shape}.")
        group = np.unique(words, return_inverse=True)[1]
    first = order[np.unique(group[order], return_index=True)[1]]  # the first member by id of each group
    if first.size < folds:
        raise InputError(f"folds must be at most the number of groups of examples, {first.size}; got {folds}.")
    sizes = np.bincount(group)
    drawn = drawn_first(seed, ("folds",), ids[first])
    kind = np.zeros(first.size, dtype=np.int64) if labels is None else np.asarray(labels)[first]
    # Groups of several go to the emptiest fold, the largest first; singles take turns, class after class.
    found = np.empty(first.size, dtype=np.int64)
    filled = np.zeros(folds, dtype=np.int64)
    large = [one for one in drawn.tolist() if sizes[one] > 1]
    for one in sorted(large, key=lambda one: -int(sizes[one])):
        found[one] = int(filled.argmin())
        filled[found[one]] += sizes[one]
    single = drawn[sizes[drawn] == 1]
    single = single[np.argsort(kind[single], kind="stable")]
    found[single] = np.arange(single.size) % folds
    return np.asarray(found[group])
