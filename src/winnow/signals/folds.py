"""Folds: which examples are held out together, drawn by id.

Classes are spread evenly over the folds. Examples of one group, such as near-duplicates or the pictures of one patient,
are in the same fold: a network that was trained on a copy would know the answer. Near-duplicates and the groups of the
source are joined: examples are together if either says so, or if a chain of both connects them.

If examples have a time, folds are blocks of time, about equally large: neighbours in time are alike, and a fold in the
middle of them would be too easy. Each block is predicted from what came before and after it: every example needs a
prediction, and from the past alone the first block would have none. A group is in the block of its mean place in time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.seeds import drawn_first

__all__ = ["fold_numbers", "joined_groups"]


def joined_groups(first: ArrayLike | None, second: ArrayLike | None) -> NDArray[np.int64] | None:
    """Return the groups of examples that either of two groupings holds together; None if there is neither.

    >>> joined_groups([0, 0, 1, 2], ["a", "b", "b", "c"]).tolist()
    [0, 0, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    given = [np.unique(np.asarray(one), return_inverse=True)[1] for one in (first, second) if one is not None]
    if len(given) < 2:
        return np.asarray(given[0], dtype=np.int64) if given else None
    if given[0].shape != given[1].shape:
        raise InputError(f"groups must have one entry per example, {given[1].size}; got shape {given[0].shape}.")
    a, b = given  # groups of both kinds are the nodes; an example connects its two
    size = int(a.max()) + int(b.max()) + 2
    links = coo_array((np.ones(a.size), (a, b + int(a.max()) + 1)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][a], dtype=np.int64)


def fold_numbers(
    ids: NDArray[Any],
    folds: int,
    seed: int,
    labels: NDArray[Any] | None = None,
    groups: ArrayLike | None = None,
    times: NDArray[Any] | None = None,
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
    times
        A number or date per example; folds are then blocks of time, and neither the seed nor labels matter.

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
    if first.size < 2:
        raise InputError(
            f"out-of-fold predictions need at least two groups of examples; all {n} are in one: equal, "
            "near-duplicates of each other, or of one given group."
        )
    if first.size < folds:
        raise InputError(f"folds must be at most the number of groups of examples, {first.size}; got {folds}.")
    sizes = np.bincount(group)
    if times is not None:
        return _blocks(np.lexsort((ids, times)), group, sizes, folds)
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


def _blocks(
    by_time: NDArray[np.int64], group: NDArray[np.int64], sizes: NDArray[np.int64], folds: int
) -> NDArray[np.int64]:
    """Blocks of time, about equally large, of whole groups."""
    place = np.empty(by_time.size)
    place[by_time] = np.arange(by_time.size)
    order = np.lexsort((np.arange(sizes.size), np.bincount(group, weights=place) / sizes))
    before = np.cumsum(sizes[order]) - sizes[order] / 2  # up to the middle of each group
    found = np.empty(sizes.size, dtype=np.int64)
    block = np.minimum((before * folds / by_time.size).astype(np.int64), folds - 1)
    if np.unique(block).size < folds:  # large groups leave a block empty: neighbours move up, and the last stand alone
        last = -1
        for index in range(block.size):
            last = min(max(int(block[index]), folds - (block.size - index)), last + 1)
            block[index] = last
    found[order] = block
    return np.asarray(found[group])
