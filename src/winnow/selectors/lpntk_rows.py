"""Helpers shared by the lpNTK selectors: rows of the kernel, restoring removed examples, and ranks of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import registry
from .pool import Pool

if TYPE_CHECKING:
    from ..methods.lpntk import FarthestPoints, Redundancy

__all__ = ["class_labels", "cluster_ranks", "cost_of_rule", "kernel_rows", "least_covered"]

Positions = NDArray[np.int64]


def cost_of_rule(rule: str, **_: object) -> registry.Cost:
    """The paper's rule compares all examples with all, the other those of each class."""
    return registry.Cost("n^2" if rule == "paper" else "class^2", memory=2)


def kernel_rows(pool: Pool) -> NDArray[Any]:
    """Rows whose products are the kernel, the mean over seeds."""
    from ..methods.lpntk.signal import joined_seeds

    return joined_seeds(pool.observed.array("lpntk"))


def class_labels(pool: Pool) -> Positions:
    """Class numbers; `select` has checked that there are some."""
    return np.asarray(pool.labels, dtype=np.int64)


def least_covered(rows: NDArray[Any], found: Redundancy) -> Positions:
    """Removed examples: those without a kept witness first, then by decreasing distance from its direction."""
    witness = found.witness[found.removed]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    covered = witness >= 0
    removed, by = found.removed[covered], witness[covered]
    cosine = np.full(witness.size, -np.inf)
    cosine[covered] = np.einsum("ij,ij->i", rows[removed], rows[by], dtype=np.float64) / lengths[removed] / lengths[by]
    return found.removed[np.argsort(cosine, kind="stable")]


def cluster_ranks(found: FarthestPoints) -> Positions:
    """For each example, the rank of its cluster by size within its class, 0 for the largest; of ties the earlier."""
    ranks = np.empty(found.sizes.size, dtype=np.int64)
    classes = np.zeros_like(found.sizes) if found.classes is None else found.classes
    for name in np.unique(classes):
        where = np.flatnonzero(classes == name)
        ranks[where[np.argsort(-found.sizes[where], kind="stable")]] = np.arange(where.size)
    return ranks[found.labels]
