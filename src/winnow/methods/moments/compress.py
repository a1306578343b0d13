"""Compress many weighted points to a few with the same moments.

`compress` is the public function. Points are merged and scaled (`cells`), divided into cells, and each cell is reduced
(`recombination`) so that all its moments stay as they are. The paper's own algorithms are here too, for comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from .cells import Merged, merge
from .moment_table import MomentTable, arrays, require_few, require_size, table
from .recombination import reduce_cell, terms
from .rounds import guesses, in_gentle_rounds, in_one_round
from .tight_clusters import greedily, in_rounds_of_kmeans

__all__ = ["STRATEGIES", "WAYS", "compress"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

STRATEGIES = ("cells", "kmeans", "greedy")
_OWNER = "compress"
_MOST = 10_000  # moments: one factorisation of this size takes 1.6 GB and most of an hour


def paper_reduction(
    points: Array, weights: Array, members: Index, products: MomentTable, quota: int, spare: int
) -> tuple[Index, Array]:
    """Algorithm 2 of the paper as printed: one singular value decomposition per removed point.

    It is a thousand times slower, and obvious: a reference to compare `recombination` with. Only the basis differs
    from the paper's: moments are about the cell's mean and scaled, because raw ones lose all digits under an offset.
    Removes points until `quota` are left, which must not be fewer than the moments.
    """
    del spare  # this algorithm has no groups
    kept, c = members, weights[members]
    total = c.sum()
    columns = terms(points, weights, members, products).T
    while len(kept) > quota:
        v = np.linalg.svd(columns)[2][-1]
        if not (v > 0).any():
            v = -v
        steps = np.divide(c, v, out=np.full(len(c), np.inf), where=v > 0)
        first = int(np.argmin(steps))
        c = c - steps[first] * v
        c[first] = 0.0
        alive = c > 0
        kept, c, columns = kept[alive], c[alive], columns[:, alive]
    return kept, c * (total / c.sum())


WAYS = {"tree": reduce_cell, "paper": paper_reduction}


def compress(
    points: ArrayLike,
    size: int,
    order: int,
    weights: ArrayLike | None = None,
    seed: int = 0,
    *,
    strategy: str = "cells",
    reduce: str = "tree",
    refine: bool = False,
    targets: ArrayLike | None = None,
) -> tuple[Index, Array]:
    """Replace weighted points by a few of them, reweighted, with the same moments.

    The points are divided into small cells. Within each cell, all moments up to `order` are preserved to rounding, so
    the sum of any smooth function over the points hardly changes: the smaller the cells and the higher the order, the
    smaller the change.

    Equal points are merged first; the first of them represents all. The result depends on the points and weights, not
    on their order. Coordinates may be constant, collinear or discrete: dependent moments need no extra points. Rounding
    stays at or below 1e-12 of the sum of a moment's absolute terms, even with far outliers; only `refine` may leave up
    to 1e-10 with one that is far along a single coordinate.

    Parameters
    ----------
    points
        One row per point, or a vector of numbers.
    size
        The number of points to keep. Exactly this many are kept if there are enough distinct points, except where
        several lose their last weight at once, which can happen on grids.
    order
        The highest order of the moments to match. It may give at most 10,000 moments; `advise` suggests one.
    weights
        Weights of the points, not negative; all 1 if not given. Those below 1e-290 of the largest count as zero.
    seed
        Seed of the k-means clusters. Nothing else is random.
    strategy
        `cells` cuts at medians, along the widest side. `kmeans` is the paper's hybrid of k-means and greedy rounds,
        `greedy` its Algorithm 1 with the tightest cluster first: both are slow, for comparison.
    reduce
        `tree` removes points by halves, `paper` one by one with a singular value decomposition each (its Algorithm 2):
        the same guarantee, a thousand times slower.
    refine
        Compress in several gentle rounds: about three times the time for about half the error. Only with `cells`.
    targets
        For regression: one row or number per point. Cells are cut in the points alone, and the matched moments are
        those that a squared loss depends on: x^a and x^a y up to the order, and y^2.

    Returns
    -------
    idx
        Rows of `points`, in increasing order.
    w
        Their weights, positive, with the same sum as the original weights.

    Raises
    ------
    InputError
        If an argument is out of range, or `size` is smaller than the number of moments.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> idx, w = compress(x, 100, order=3)
    >>> len(idx), round(float(w.sum()), 9)
    (100, 1000.0)
    >>> bool(np.allclose(w @ x[idx] ** 3, (x**3).sum(axis=0), rtol=0, atol=1e-9))
    True
    """
    x, y, before = arrays(_OWNER, points, weights, targets)
    size = checks.integer("size", _OWNER, size, low=1)
    order = checks.integer("order", _OWNER, order, low=1)
    seed = checks.integer("seed", _OWNER, seed, low=0)
    checks.choice("strategy", _OWNER, strategy, STRATEGIES)
    checks.choice("reduce", _OWNER, reduce, WAYS)
    if not isinstance(refine, bool):
        raise InputError(f"refine of {_OWNER} must be True or False; got {refine!r:.60}.")
    if refine and (strategy, reduce) != ("cells", "tree"):
        raise InputError(
            f"refine of {_OWNER} must be False unless strategy is 'cells' and reduce is 'tree'; "
            f"got strategy {strategy!r}, reduce {reduce!r}."
        )
    unit = float(2.0 ** np.floor(np.log2(before.max())))  # a power of two: exact
    data = merge(x, y, before / unit)
    if len(data.weights) <= size:
        kept, fresh = np.arange(len(data.weights)), data.weights
    else:
        by_tree = strategy == "cells" and reduce == "tree"
        if not by_tree:  # the other algorithms treat all moments as independent
            require_size(_OWNER, data.dimensions, size, order, data.targets)
        require_few(_OWNER, data.dimensions, order, data.targets, most=_MOST, size=size)
        products = table(data.dimensions, order, data.targets)
        if by_tree:
            kept, fresh = _by_tree(data, size, order, products, refine)
        else:
            kept, fresh = _by_name(data, size, products, seed, strategy, reduce)
    rows = data.first[kept]
    by_row = np.argsort(rows)
    return rows[by_row], fresh[by_row] * unit


def _by_tree(data: Merged, size: int, order: int, products: MomentTable, refine: bool) -> tuple[Index, Array]:
    """Use as many cells as the independent moments allow; if that guess was too low, as many as all moments allow."""
    for least in dict.fromkeys((*guesses(data.points, size, products), products.moments)):
        if least <= size:
            if refine:
                kept, fresh = in_gentle_rounds(data, size, products, least)
            else:
                kept, fresh = in_one_round(data, data.weights, size, products, least)
            if len(kept) <= size:
                return kept, fresh
    require_size(_OWNER, data.dimensions, size, order, data.targets)
    raise AssertionError("a cell kept more points than there are moments")


def _by_name(
    data: Merged, size: int, products: MomentTable, seed: int, strategy: str, reduce: str
) -> tuple[Index, Array]:
    moments = products.moments

    def reduced(weights: Array, members: Index, quota: int) -> tuple[Index, Array]:
        return WAYS[reduce](data.points, weights, members, products, quota, moments)

    if strategy == "kmeans":
        return in_rounds_of_kmeans(data, size, moments, seed, reduced)
    if strategy == "greedy":
        return greedily(data, size, moments, reduced)
    return in_one_round(data, data.weights, size, products, moments, reduced)
