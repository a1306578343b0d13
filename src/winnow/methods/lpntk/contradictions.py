"""Likely label errors: examples that the rest of their class does not support (Guo et al. 2024, App. C.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.progress import track
from .kernel_rows import FeatureRows, Kernel, Positions, grouped, opened, spans

__all__ = ["Contradictions", "contradictions", "unsupported"]

Vector = NDArray[np.float64]
_CANDIDATES = 512  # rows compared with a class at a time


@dataclass(frozen=True, eq=False)
class Contradictions:
    """Candidates for label errors, most likely first.

    Attributes
    ----------
    positions
        The candidates.
    scores
        Their scores, in [0, 1]: 0 for full support by their own class, 1/2 for none, 1 for full contradiction.
    suggested
        For each candidate, the nearest class other than its own.
    witness
        For each candidate, the nearest example of that class.
    every
        The score of every example, in the order of the data.
    """

    positions: Positions
    scores: Vector
    suggested: Positions
    witness: Positions
    every: Vector


def contradictions(
    gram: ArrayLike | FeatureRows, labels: ArrayLike, k: int | None = None, share: float = 0.2
) -> Contradictions:
    """Rank examples by how little their own class supports them.

    The support of an example is the mean of its largest cosines with the others of its class, over a share of them;
    the score is (1 - support) / 2. This follows Appendix C.3: an example that is not interchangeable with its class,
    while the others are with each other, is an outlier of the class. The mean is over a share rather than a fixed
    number, because examples with the same wrong label support each other and their number grows with the data.

    Other classes do not enter the score: whether a similar input with another label pulls along or against depends on
    the kernel and the number of classes. They only give the suggested class, the one with the largest mean absolute
    cosine, which is a hint. An example alone in its class cannot be judged and scores 0. In the repository's study of
    uniform flips (docs/studies/lpntk.md) the score found more of them than plain training loss on MNIST after 3 epochs
    and fewer after 30; on Fashion-MNIST the difference was not significant at either length.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    labels
        Integers, one per example, of at least two classes.
    k
        How many candidates to return; None returns all examples, ranked.
    share
        The share of a class, in (0, 1], that the means are taken over.

    Returns
    -------
    Contradictions
        The candidates with their scores, and a suggested class for each.

    Raises
    ------
    InputError
        If the kernel is not a valid one, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.1], [0.0, 1.0], [0.1, 1.0], [-0.1, 1.0], [0.9, 0.1]])
    >>> found = contradictions(rows @ rows.T, [0, 0, 0, 1, 1, 1, 1], k=1)  # the last example has the wrong label
    >>> found.positions.tolist(), found.suggested.tolist()
    ([6], [0])
    """
    share = checks.fraction("share", "contradictions", share)
    kernel = opened("contradictions", gram)
    classes, places = grouped("contradictions", labels, kernel.n)
    if classes.size < 2:
        raise InputError(f"labels of contradictions must be of at least 2 classes; got only {int(classes[0])}.")
    k = kernel.n if k is None else min(checks.integer("k", "contradictions", k, low=1), kernel.n)
    members = [np.flatnonzero(places == c) for c in range(classes.size)]
    every = _unsupported(kernel, members, share)
    order = np.argsort(-every, kind="stable")[:k]
    suggested, witness = _suggested(kernel, order, places, members, share)
    return Contradictions(order, every[order], classes[suggested], witness, every)


def unsupported(gram: ArrayLike | FeatureRows, labels: ArrayLike, share: float = 0.2) -> Vector:
    """Compute only the scores of `contradictions`; a single class is allowed.

    Parameters
    ----------
    gram, labels, share
        As for `contradictions`.
    """
    share = checks.fraction("share", "unsupported", share)
    kernel = opened("unsupported", gram)
    classes, places = grouped("unsupported", labels, kernel.n)
    return _unsupported(kernel, [np.flatnonzero(places == c) for c in range(classes.size)], share)


def _unsupported(kernel: Kernel, members: list[Positions], share: float) -> Vector:
    """Return (1 - support) / 2 for each example; 0 for one that is alone in its class."""
    every = np.zeros(kernel.n)
    for positions in track(members, "contradictions"):
        if positions.size > 1:
            every[positions] = (1.0 - _support(kernel.only(positions), share)) / 2.0
    return every


def _support(kernel: Kernel, share: float) -> Vector:
    """For each example, the mean of its largest cosines with a share of the others."""
    lengths = np.sqrt(kernel.diagonal)
    out = np.empty(kernel.n)
    for rows in spans(kernel, kernel.n):
        cosines = kernel.block(rows, slice(None)) / lengths[rows, None] / lengths
        at = np.arange(rows.start, rows.stop)
        cosines[at - rows.start, at] = -np.inf
        out[rows] = _top_mean(cosines, share * (kernel.n - 1))
    return out


def _suggested(
    kernel: Kernel, candidates: Positions, places: Positions, members: list[Positions], share: float
) -> tuple[Positions, Positions]:
    """For each candidate, the nearest other class and its nearest example, by absolute cosine."""
    lengths = np.sqrt(kernel.diagonal)
    best = np.full(candidates.size, -np.inf)
    which, witness = np.zeros((2, candidates.size), dtype=np.int64)
    for start in range(0, candidates.size, _CANDIDATES):
        rows = slice(start, start + _CANDIDATES)
        some = candidates[rows]
        for c, positions in enumerate(members):
            cosines = np.abs(kernel.block(some, positions)) / lengths[some, None] / lengths[positions]
            near = np.where(places[some] == c, -np.inf, _top_mean(cosines, share * positions.size))
            nearer = near > best[rows]
            best[rows][nearer], which[rows][nearer] = near[nearer], c
            witness[rows][nearer] = positions[cosines.argmax(axis=1)][nearer]
    return which, witness


def _top_mean(values: NDArray[Any], count: float) -> Vector:
    """Mean of the largest entries per row: `count` of them, rounded, at least one."""
    top = max(1, round(count))
    return np.asarray(np.partition(values, values.shape[1] - top, axis=1)[:, -top:].mean(axis=1), dtype=np.float64)
