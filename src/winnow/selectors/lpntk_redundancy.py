"""lpNTK redundancy: remove examples whose effect on training a kept example already provides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from .lpntk_rows import Positions, class_labels, cost_of_rule, kernel_rows, least_covered
from .pool import Choice, Pool

if TYPE_CHECKING:
    from ..methods.lpntk import Redundancy

__all__ = ["lpntk_redundancy"]

RULES = ("cover", "paper")
HALVINGS = 14  # of the interval in which the cosine is searched


@registry.selector(needs={"lpntk"}, paper="Guo et al. 2024 (lpNTK)", tasks=("classification",), cost=cost_of_rule)
def lpntk_redundancy(pool: Pool, size: int, *, seed: int = 0, rule: str = "cover") -> Choice:
    """Remove examples that another of their class covers, by the direction of their gradients.

    With phi the lpNTK feature and k = phi.phi', the mean over seeds:

    `cover` goes through each class from the largest |phi| down and removes an example if a kept one has a cosine
    of at least c with it; c is the largest that removes enough, found by bisection, the same for all classes. If it
    removes more than enough, the least covered ones are kept again. If no c > 0 removes enough, the examples that cover
    most are kept; the certificate counts those then left without a kept witness (`uncovered`).

    `paper` is Section 4.1: x is redundant if some other x' has k(x, x') > k(x, x). To reach a size, the largest
    max over x' of k(x, x') / k(x, x) go first; the certificate says how many are redundant as published. By
    the Cauchy-Schwarz inequality this removes every example with a short gradient, covered or not.

    Parameters
    ----------
    pool
        Must have lpntk and class labels.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    rule
        `cover` or `paper`.
    """
    kind = checks.choice("rule", "selector 'lpntk_redundancy'", rule, RULES)
    if size == pool.n:
        return Choice(np.arange(pool.n), certificate={"rule": kind})
    rows = kernel_rows(pool)
    if kind == "paper":
        excess = _excess(rows)
        kept = np.argsort(excess, kind="stable")[:size]
        return Choice(
            np.sort(kept),
            certificate={"rule": kind, "largest_ratio": float(excess[kept[-1]]), "published": int((excess > 1).sum())},
        )
    found, cosine = _cover(rows, class_labels(pool), size)
    if found.kept.size > size:
        kept = _covering_most(rows, found, size)
    else:
        kept = np.concatenate([found.kept, least_covered(rows, found)[: size - found.kept.size]])
    alone = np.setdiff1d(found.removed[~np.isin(found.witness[found.removed], kept)], kept).size
    dropped = np.setdiff1d(found.kept, kept).size
    return Choice(np.sort(kept), certificate={"rule": kind, "cosine": cosine, "uncovered": int(alone + dropped)})


def _cover(rows: NDArray[Any], labels: Positions, size: int) -> tuple[Redundancy, float]:
    """The redundant examples at the largest cosine that leaves at most `size`; at the smallest tried if none does."""
    from ..methods.lpntk import FeatureRows, redundant

    features = FeatureRows(rows)
    found = redundant(features, "cover", 1.0, labels)
    if found.kept.size <= size:
        return found, 1.0
    best, low, high = None, 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = redundant(features, "cover", middle, labels)
        if found.kept.size <= size:
            best, low = found, middle
        else:
            high = middle
        if found.kept.size == size:
            break
    return (found, high) if best is None else (best, low)


def _covering_most(rows: NDArray[Any], found: Redundancy, size: int) -> Positions:
    """The kept examples that are the witness of most others; of ties the one with the longer gradient."""
    counts = np.bincount(found.witness[found.removed], minlength=rows.shape[0])[found.kept]
    lengths = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)[found.kept]
    return found.kept[np.lexsort((-lengths, -counts))[:size]]


def _excess(rows: NDArray[Any]) -> NDArray[np.float64]:
    """The largest k(x, x') / k(x, x) over all others x'; values equal to 1 up to rounding become 1."""
    from ..methods.lpntk import FeatureRows
    from ..methods.lpntk.kernel_rows import opened, rounding, spans

    kernel = opened("selector 'lpntk_redundancy'", FeatureRows(rows))
    out = np.empty(kernel.n)
    for part in spans(kernel, kernel.n):
        values = kernel.block(part, slice(None))
        at = np.arange(part.start, part.stop)
        values[at - part.start, at] = -np.inf
        out[part] = values.max(axis=1) / kernel.diagonal[part]
    out[np.abs(out - 1.0) <= rounding(kernel)] = 1.0
    return out
