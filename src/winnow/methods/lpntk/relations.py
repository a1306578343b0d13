"""How pairs of examples relate: interchangeable, unrelated, contradictory (Guo et al. 2024, Appendix C).

With phi and phi' the features of two examples, the projections phi.phi' / |phi|^2 and phi.phi' / |phi'|^2 say how far a
step on one goes for the other. Both at least t: interchangeable. Both at most -t: contradictory (the paper prints the
same t, then takes it negative). Both near 0: unrelated. In terms of the kernel k and its diagonal d these are
k >= t max(d, d'), k <= -t max(d, d') and |k| <= u min(d, d'), so no pair is of two kinds.

Appendix C gives no number, only t in (1/2, 1]; the default is the middle of that interval. It also asks for like
lengths: at t = 3/4 the longer gradient is at most 4/3 of the shorter.

Few pairs are contradictory where there are many classes. Two copies of one input with different labels have a cosine of
about (K - 4) / K by s(y) of +1 and -1, and of -1 / (K - 1) by the centred variant: only for two classes does a wrong
label alone reach -t. `contradictions` therefore does not wait for that threshold.
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
    """How many pairs of examples are of each kind.

    Attributes
    ----------
    threshold, unrelated
        The bounds that were used.
    total
        Pairs of each kind of `KINDS`.
    pairs
        Pairs in all; those of no kind lie between the bounds.
    examples
        n x 3: for each example its partners of each kind.
    mean_cosine
        For each example its mean cosine with all others.
    classes
        The classes in increasing order, or None.
    table
        classes x classes x 3: pairs of each kind between two classes, on the diagonal within one; symmetric, or None.
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
        """Pairs of one kind, classes x classes."""
        place = KINDS.index(checks.choice("kind", "between", kind, KINDS))
        if self.table is None:
            raise InputError("between of Relations needs labels; relations was called without them.")
        return self.table[:, :, place]

    def within(self, kind: str) -> NDArray[np.int64]:
        """Pairs of one kind inside each class."""
        return np.diagonal(self.between(kind))


@dataclass(frozen=True, eq=False)
class Partners:
    """Examples that stand in some relation to one, the strongest first.

    `own` is phi.phi' over the |phi|^2 of the one asked about, `other` over that of the partner.
    """

    positions: Positions
    cosine: Vector
    own: Vector
    other: Vector


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The examples most interchangeable and most contradictory with one."""

    example: int
    interchangeable: Partners
    contradictory: Partners


def relations(
    gram: ArrayLike | FeatureRows,
    labels: ArrayLike | None = None,
    threshold: float = 0.75,
    unrelated: float = 0.05,
) -> Relations:
    """Count the pairs of each kind, in all and between classes.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    labels
        Whole numbers, one an example, for counts by class.
    threshold
        The t of Appendix C, in (1/2, 1].
    unrelated
        The largest size of both projections of an unrelated pair, in [0, 1/2].

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
    """What an example is interchangeable with, and what it contradicts.

    Partners are ranked by the smaller of the two projections, the one that Appendix C holds against t. Only positive
    ones are listed as interchangeable and only negative ones as contradictory, so a list may be shorter than `k`.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    i
        The position of the example.
    k
        The longest list wanted.
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
