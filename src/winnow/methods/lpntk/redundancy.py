"""Redundant examples: those whose effect on training another example already provides.

There are two rules. `paper` is Section 4.1 of Guo et al. 2024: x is redundant if some other x' has k(x, x') > k(x, x).
It looks at the whole set at once, so the example that makes x redundant may itself be removed; and since k(x, x') is at
most |phi| |phi'|, it removes nearly every example whose gradient is short. `cover` goes through the examples from the
largest self-kernel down and removes one only if a kept example has nearly the same direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.progress import track
from .kernel_rows import FeatureRows, Kernel, Positions, grouped, opened, rounding, spans

__all__ = ["RULES", "Redundancy", "redundant"]

RULES = ("cover", "paper")
_STEP = 512  # examples decided together
_KEPT = 4096  # kept examples they are compared with at a time


@dataclass(frozen=True, eq=False)
class Redundancy:
    """Which examples are redundant, and which kept example covers each.

    Attributes
    ----------
    removed, kept
        Positions, in increasing order.
    witness
        For each removed example, the kept one that covers it best (among those kept before it, by the largest cosine;
        with the paper's rule, by the largest kernel); -1 for a kept example and for one in `uncovered`.
    rule
        The rule that was used.
    """

    removed: Positions
    kept: Positions
    witness: Positions
    rule: str

    @property
    def uncovered(self) -> Positions:
        """Removed examples that no kept one makes redundant; always empty with the rule `cover`."""
        return self.removed[self.witness[self.removed] < 0]


def redundant(
    gram: ArrayLike | FeatureRows,
    rule: str = "cover",
    cosine: float = 0.97,
    labels: ArrayLike | None = None,
    *,
    projection: bool = False,
) -> Redundancy:
    """Find the redundant examples of a kernel.

    Numbers that differ by no more than rounding count as equal. So a copy is covered at `cosine=1`, and does not make
    its original redundant under the paper's strict rule.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    rule
        "cover" or "paper".
    cosine
        The smallest cosine between a removed example and its witness, in (0, 1]; used by "cover".
    labels
        If given, an example can only be made redundant by one of its own class.
    projection
        Used by "cover": also require that the witness, projected on the removed example, is at least as long as it.

    Returns
    -------
    Redundancy
        The removed and kept positions, and a witness per removed example.

    Raises
    ------
    InputError
        If the kernel is not a valid one, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 0.01]])
    >>> found = redundant(rows @ rows.T)
    >>> found.removed.tolist(), found.witness.tolist()
    ([2], [-1, -1, 0])
    """
    rule = checks.choice("rule", "redundant", rule, RULES)
    cosine = checks.fraction("cosine", "redundant", cosine)
    kernel = opened("redundant", gram)
    witness = np.full(kernel.n, -1, dtype=np.int64)
    gone = np.zeros(kernel.n, dtype=bool)
    for members in track(_groups(kernel, labels), "redundant"):
        part = kernel if members.size == kernel.n else kernel.only(members)
        lost, stand_in = _by_paper(part) if rule == "paper" else _by_cover(part, cosine, projection)
        gone[members] = lost
        witness[members] = np.where(stand_in >= 0, members[stand_in], -1)
    return Redundancy(np.flatnonzero(gone), np.flatnonzero(~gone), checks.frozen(witness, copy=False), rule)


def _groups(kernel: Kernel, labels: ArrayLike | None) -> list[Positions]:
    if labels is None:
        return [np.arange(kernel.n)]
    classes, places = grouped("redundant", labels, kernel.n)
    return [np.flatnonzero(places == c) for c in range(classes.size)]


def _by_paper(kernel: Kernel) -> tuple[NDArray[np.bool_], Positions]:
    """Compare with the whole set; the witness is the kept example with the largest kernel, if it is large enough."""
    own = kernel.diagonal * (1.0 + rounding(kernel))
    gone = np.zeros(kernel.n, dtype=bool)
    for rows in spans(kernel, kernel.n):
        values = kernel.block(rows, slice(None))
        at = np.arange(rows.start, rows.stop)
        values[at - rows.start, at] = -np.inf
        gone[rows] = values.max(axis=1) > own[rows]
    witness = np.full(kernel.n, -1, dtype=np.int64)
    removed, kept = np.flatnonzero(gone), np.flatnonzero(~gone)
    for some in _pieces(removed, _STEP):
        best, which = _best(kernel.block(some, piece) for piece in _pieces(kept, _KEPT))
        witness[some] = np.where(best > own[some], kept[which], -1)
    return gone, witness


def _by_cover(kernel: Kernel, cosine: float, projection: bool) -> tuple[NDArray[np.bool_], Positions]:
    """Go from the largest self-kernel down, in blocks: compare with all kept so far, then within the block."""
    enough = cosine * (1.0 - rounding(kernel))
    order = np.argsort(-kernel.diagonal, kind="stable")
    gone = np.zeros(kernel.n, dtype=bool)
    witness = np.full(kernel.n, -1, dtype=np.int64)
    kept = np.empty(0, dtype=np.int64)
    for some in _pieces(order, _STEP):
        best = np.full(some.size, -np.inf)
        stand_in = np.full(some.size, -1, dtype=np.int64)
        if kept.size:
            best, which = _best(_cosines(kernel, some, piece, projection) for piece in _pieces(kept, _KEPT))
            stand_in = kept[which]
        among = _cosines(kernel, some, some, projection)
        for i in range(some.size):
            if best[i] >= enough:
                continue
            stand_in[i] = -1
            closer = among[i + 1 :, i] > best[i + 1 :]
            best[i + 1 :][closer] = among[i + 1 :, i][closer]
            stand_in[i + 1 :][closer] = some[i]
        gone[some] = stand_in >= 0
        witness[some] = stand_in
        kept = np.concatenate([kept, some[stand_in < 0]])
    return gone, witness


def _cosines(kernel: Kernel, rows: Positions, columns: Positions, projection: bool) -> NDArray[Any]:
    """Cosines, with minus infinity where a projection is required and too short."""
    values = kernel.block(rows, columns)
    lengths = np.sqrt(kernel.diagonal).astype(kernel.dtype)
    cosines = values / lengths[rows, None] / lengths[columns]
    if projection:
        short = values < (kernel.diagonal[rows] * (1.0 - rounding(kernel)))[:, None]
        cosines[short] = -np.inf
    return np.asarray(cosines)


def _best(blocks: Iterator[NDArray[Any]]) -> tuple[NDArray[np.float64], Positions]:
    """The largest entry per row over adjacent blocks, and its column; the first of ties."""
    best, which, offset = np.empty(0), np.empty(0, dtype=np.int64), 0
    for block in blocks:
        top = block.argmax(axis=1)
        value = block[np.arange(top.size), top].astype(np.float64)
        if offset == 0:
            best, which = value, top
        else:
            better = value > best
            best[better], which[better] = value[better], top[better] + offset
        offset += block.shape[1]
    return best, which


def _pieces(positions: Positions, step: int) -> Iterator[Positions]:
    for start in range(0, positions.size, step):
        yield positions[start : start + step]
