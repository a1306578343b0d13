"""Farthest point clustering, Algorithm 3 of Guo et al. 2024.

The first centre is the example with the largest self-kernel. Then, repeatedly, the example least similar to its own
centre becomes a centre, and every example more similar to it than to its own centre moves over. Each step needs one
row of the kernel: O(n m) in all.

Where the paper leaves details open: a centre belongs to its own cluster and is never chosen twice (on the raw kernel a
short example may be less similar to itself than to any centre); of equally dissimilar examples the one in the earlier
cluster is taken, then the earlier one; an equally similar example does not move.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.progress import task
from .kernel_rows import FeatureRows, Kernel, Positions, grouped, opened

__all__ = ["KINDS", "FarthestPoints", "farthest_points"]

KINDS = ("raw", "cosine")


@dataclass(frozen=True, eq=False)
class FarthestPoints:
    """Clusters around examples.

    Attributes
    ----------
    centres
        The position of each cluster's centre, in the order they were found; grouped by class if there are classes.
    labels
        The cluster of each example, an index into `centres`.
    sizes
        The number of examples per cluster, including its centre.
    classes
        The class of each cluster, or None if all examples were clustered together.
    """

    centres: Positions
    labels: Positions
    sizes: Positions
    classes: Positions | None = None

    @property
    def heads(self) -> Positions:
        """The largest cluster per class, or overall; the earliest of ties."""
        if self.classes is None:
            return np.array([int(self.sizes.argmax())])
        where = (np.flatnonzero(self.classes == c) for c in np.unique(self.classes))
        return np.array([int(found[self.sizes[found].argmax()]) for found in where])

    def members(self, cluster: int) -> Positions:
        """The positions of a cluster's examples, including its centre."""
        cluster = checks.integer("cluster", "members", cluster, low=0, high=self.centres.size - 1)
        return np.flatnonzero(self.labels == cluster)


def farthest_points(
    gram: ArrayLike | FeatureRows, m: float, kind: str = "raw", labels: ArrayLike | None = None
) -> FarthestPoints:
    """Cluster the examples around `m` of them that differ from each other.

    Parameters
    ----------
    gram
        The kernel: a square array, which may be memory-mapped, or `FeatureRows`.
    m
        The number of centres: an integer, or a float in (0, 1] for that share of the examples (at least one). With
        labels, this many per class.
    kind
        "raw" compares kernels, as the paper does, so that examples with short gradients become clusters of one.
        "cosine" compares directions; its first centre is still the largest self-kernel.
    labels
        If given, each class is clustered separately.

    Returns
    -------
    FarthestPoints
        The centres, and the cluster of each example.

    Raises
    ------
    InputError
        If the kernel is not a valid one, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    >>> found = farthest_points(rows @ rows.T, 2)
    >>> found.centres.tolist(), found.labels.tolist()
    ([0, 1], [0, 1, 0])
    """
    kind = checks.choice("kind", "farthest_points", kind, KINDS)
    kernel = opened("farthest_points", gram)
    if labels is None:
        groups, names = [np.arange(kernel.n)], None
    else:
        names, places = grouped("farthest_points", labels, kernel.n)
        groups = [np.flatnonzero(places == c) for c in range(names.size)]
    counts = _counts(m, [group.size for group in groups])
    centres: list[Positions] = []
    clusters = np.empty(kernel.n, dtype=np.int64)
    found = 0
    with task("farthest points", sum(counts)) as advance:
        for group, count in zip(groups, counts, strict=True):
            part = kernel if names is None else kernel.only(group)
            local, assigned = _cluster(part, count, kind == "cosine")
            centres.append(group[local])
            clusters[group] = assigned + found
            found += count
            advance(count)
    return FarthestPoints(
        np.concatenate(centres),
        clusters,
        np.bincount(clusters, minlength=found).astype(np.int64),
        None if names is None else np.repeat(names, counts),
    )


def _counts(m: object, sizes: list[int]) -> list[int]:
    """Return the number of centres per group."""
    if isinstance(m, numbers.Real) and not isinstance(m, numbers.Integral):
        share = checks.fraction("m", "farthest_points", m)
        return [max(1, round(share * size)) for size in sizes]
    if isinstance(m, bool) or not isinstance(m, numbers.Integral) or not 1 <= int(m) <= min(sizes):
        raise InputError(
            f"m of farthest_points must be a whole number from 1 to {min(sizes)} (the examples, or those of the "
            f"smallest class) or a float in (0, 1]; got {m!r}."
        )
    return [int(m)] * len(sizes)


def _cluster(kernel: Kernel, m: int, cosine: bool) -> tuple[Positions, Positions]:
    """Return the centres in the order found, and the cluster of each example."""
    centres = np.empty(m, dtype=np.int64)
    centres[0] = int(kernel.diagonal.argmax())
    clusters = np.zeros(kernel.n, dtype=np.int64)
    similarity = _row(kernel, centres[0], cosine)
    free = np.ones(kernel.n, dtype=bool)
    free[centres[0]] = False
    for step in range(1, m):
        centres[step] = new = _least(similarity, clusters, free)
        row = _row(kernel, new, cosine)
        free[new] = False
        moving = free & (row > similarity)
        moving[new] = True
        similarity[moving] = row[moving]
        clusters[moving] = step
    return centres, clusters


def _least(similarity: NDArray[np.float64], clusters: Positions, free: NDArray[np.bool_]) -> int:
    """The free example least similar to its centre; of ties the one in the earliest cluster, then the earliest."""
    among = np.where(free, similarity, np.inf)
    equals = np.flatnonzero(among == among.min())
    return int(equals[clusters[equals].argmin()])


def _row(kernel: Kernel, i: int | np.int64, cosine: bool) -> NDArray[np.float64]:
    row = np.array(kernel.block(np.array([i]), slice(None))[0], dtype=np.float64)
    if cosine:
        lengths = np.sqrt(kernel.diagonal)
        row /= lengths[i] * lengths
    return row
