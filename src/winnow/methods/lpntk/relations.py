"""How pairs of examples relate: interchangeable, unrelated, contradictory (Guo et al. 2024, Appendix C).

With phi and phi' the features of two examples, the projections phi.phi' / |phi|^2 and phi.phi' / |phi'|^2 say how far a
step on one helps the other. Both at least t: interchangeable. Both at most -t: contradictory (the paper prints the
same t, then uses it as negative). Both near 0: unrelated. In terms of the kernel k and its diagonal d these are
k >= t max(d, d'), k <= -t max(d, d') and |k| <= u min(d, d'), so no pair is of two kinds.

Appendix C gives no number, only t in (1/2, 1]; the default is the middle of that interval. It also implies similar
lengths: at t = 3/4 the longer gradient is at most 4/3 of the shorter.

With many classes, few pairs are contradictory. Two copies of one input with different labels have a cosine of about
(K - 4) / K with s(y) of +1 and -1, and of -1 / (K - 1) with the centred variant: only for two classes does a wrong
label alone reach -t. `contradictions` therefore does not use that threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.jit import compiled
from ...core.progress import track
from .kernel_rows import FeatureRows, Positions, grouped, opened, rounding, spans

__all__ = [
    "KINDS",
    "Neighbours",
    "Partners",
    "Relations",
    "neighbours",
    "relations",
]

KINDS = ("interchangeable", "unrelated", "contradictory")
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Relations:
    """Counts of pairs of each kind.

    Attributes
    ----------
    threshold, unrelated
        The bounds that were used.
    total
        The number of pairs of each kind in `KINDS`.
    pairs
        The number of all pairs; those of no kind lie between the bounds.
    examples
        n x 3: the number of partners of each kind, per example.
    mean_cosine
        The mean cosine of each example with all others.
    classes
        The classes in increasing order, or None.
    table
        classes x classes x 3: pairs of each kind between two classes, or within one on the diagonal. Symmetric; None
        without labels.
    """

    threshold: float
    unrelated: float
    total: dict[str, int]
    pairs: int
    examples: NDArray[np.int64]
    mean_cosine: Vector
    classes: NDArray[np.int64] | None = None
    table: NDArray[np.int64] | None = None

    def between(self, kind: str) -> NDArray[np.int64]:
        """Return the pairs of one kind, classes x classes."""
        place = KINDS.index(checks.choice("kind", "between", kind, KINDS))
        if self.table is None:
            raise InputError("labels of relations must be given for Relations.between; got None.")
        return self.table[:, :, place]

    def within(self, kind: str) -> NDArray[np.int64]:
        """Return the pairs of one kind within each class."""
        return np.diagonal(self.between(kind))


@dataclass(frozen=True, eq=False)
class Partners:
    """Examples related to a given one, the strongest first.

    `own` is phi.phi' divided by the |phi|^2 of the given example, `other` by that of the partner.
    """

    positions: Positions
    cosine: Vector
    own: Vector
    other: Vector


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The examples most interchangeable with a given one, and those most contradictory to it."""

    example: int
    interchangeable: Partners
    contradictory: Partners


def relations(
    gram: ArrayLike | FeatureRows,
    labels: ArrayLike | None = None,
    threshold: float = 0.75,
    unrelated: float = 0.05,
) -> Relations:
    """Count the pairs of each kind, overall and between classes.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    labels
        Integers, one per example, for counts per class.
    threshold
        The t of Appendix C, in (1/2, 1].
    unrelated
        The largest absolute value of both projections of an unrelated pair, in [0, 1/2].

    Returns
    -------
    Relations
        Counts overall, per example and, with labels, per pair of classes.

    Raises
    ------
    InputError
        If the kernel is not a valid one, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [0.0, 1.0]])
    >>> relations(rows @ rows.T, [0, 0, 1, 1]).total
    {'interchangeable': 1, 'unrelated': 2, 'contradictory': 2}
    """
    threshold = checks.number("threshold", "relations", threshold, low=0.5, high=1.0, open_low=True)
    unrelated = checks.number("unrelated", "relations", unrelated, low=0.0, high=0.5)
    kernel = opened("relations", gram)
    if labels is None:
        classes, places = np.zeros(1, dtype=np.int64), np.zeros(kernel.n, dtype=np.int64)
    else:
        classes, places = grouped("relations", labels, kernel.n)
    table = np.zeros((classes.size, classes.size, len(KINDS)), dtype=np.int64)
    examples = np.zeros((kernel.n, len(KINDS)), dtype=np.int64)
    cosines = np.zeros(kernel.n)
    least = threshold * (1.0 - rounding(kernel))  # so that copies count at a threshold of 1
    for rows in track(spans(kernel, kernel.n), "relations"):
        block = kernel.block(rows, slice(rows.start, kernel.n))
        _tally(block, rows.start, places, kernel.diagonal, least, unrelated, table, examples, cosines)
    both = table + table.transpose(1, 0, 2)
    both[np.arange(classes.size), np.arange(classes.size)] //= 2
    counts = table.sum(axis=(0, 1))
    return Relations(
        threshold,
        unrelated,
        {kind: int(count) for kind, count in zip(KINDS, counts, strict=True)},
        kernel.n * (kernel.n - 1) // 2,
        examples,
        cosines / (kernel.n - 1),
        None if labels is None else classes,
        None if labels is None else both,
    )


def neighbours(gram: ArrayLike | FeatureRows, i: int, k: int = 10) -> Neighbours:
    """Find the examples that one is interchangeable with, and those it contradicts.

    Partners are ranked by the smaller of the two projections, the one that Appendix C compares with t. Only positive
    ones are listed as interchangeable and only negative ones as contradictory, so a list may be shorter than `k`.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    i
        The position of the example.
    k
        The maximum length of each list.

    Returns
    -------
    Neighbours
        Two lists of partners, the strongest first.

    Raises
    ------
    InputError
        If the kernel is not a valid one, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [0.0, 1.0]])
    >>> found = neighbours(rows @ rows.T, 0)
    >>> found.interchangeable.positions.tolist(), found.contradictory.positions.tolist()
    ([1], [2])
    """
    kernel = opened("neighbours", gram)
    i = checks.integer("i", "neighbours", i, low=0, high=kernel.n - 1)
    k = checks.integer("k", "neighbours", k, low=1)
    row = np.array(kernel.block(np.array([i]), slice(None))[0], dtype=np.float64)
    row[i] = 0.0  # neither positive nor negative: in neither list
    strength = row / np.maximum(kernel.diagonal, kernel.diagonal[i])

    def partners(sign: float) -> Partners:
        able = np.flatnonzero(sign * strength > 0)
        top = able[np.argsort(-sign * strength[able], kind="stable")[:k]]
        lengths = np.sqrt(kernel.diagonal[top]) * np.sqrt(kernel.diagonal[i])
        return Partners(top, row[top] / lengths, row[top] / kernel.diagonal[i], row[top] / kernel.diagonal[top])

    return Neighbours(i, partners(1.0), partners(-1.0))


@compiled
def _tally(
    block: NDArray[Any],
    first: int,
    places: NDArray[np.int64],
    diagonal: Vector,
    threshold: float,
    unrelated: float,
    table: NDArray[np.int64],
    examples: NDArray[np.int64],
    cosines: Vector,
) -> None:
    """Add the pairs of rows first, first + 1, ... with later examples; the block's columns also start at first."""
    rows, columns = block.shape
    for r in range(rows):
        i = first + r
        for c in range(r + 1, columns):
            j = first + c
            value = np.float64(block[r, c])
            longer, shorter = max(diagonal[i], diagonal[j]), min(diagonal[i], diagonal[j])
            cosine = value / np.sqrt(longer) / np.sqrt(shorter)
            cosines[i] += cosine
            cosines[j] += cosine
            if value >= threshold * longer:
                kind = 0
            elif abs(value) <= unrelated * shorter:
                kind = 1
            elif value <= -threshold * longer:
                kind = 2
            else:
                continue
            table[places[i], places[j], kind] += 1
            examples[i, kind] += 1
            examples[j, kind] += 1
