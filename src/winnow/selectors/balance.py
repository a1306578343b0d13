"""Quotas around any selector: no class (or cluster, if there are no classes) falls below its floor.

`balance=b` in [0, 1] guarantees each of K classes at least b times its equal share, size / K, or all it has if
that is less. The selector first fills every class's floor from that class alone, then the rest from the remaining
examples of all classes. A selector whose weights represent everything it chose from (`by_group`) instead gets the
number to keep per class: its floor and a part of the rest, in proportion to what the class has left. If a class is too
small for its floor, the difference is distributed over the others, so b = 1 means as equal as the data allow;
everything sums exactly to the size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.quotas import class_balance, floors, in_proportion, share_out
from ..core import checks
from ..core.errors import InputError
from ..core.request import Parameter
from ..signals.clusters import DEFAULT_CLUSTERS, nearest_centroid, spherical_centroids
from .pool import Choice, Pool

__all__ = ["Balance", "class_names", "combine", "groups_of", "share_of", "shares_of"]

USUAL = 0.5  # the share of an equal part that "auto" guarantees each class


def _balance(name: str, owner: str, value: Any) -> float | str:
    if isinstance(value, str) and value == "auto":
        return value
    return checks.number(name, owner, value, low=0.0, high=1.0)


def _typed(text: str) -> float | str | None:
    try:
        return None if text == "none" else text if text == "auto" else float(text)
    except ValueError:
        raise InputError(f"--balance must be a number in [0, 1], auto or none; got {text!r}.") from None


Balance = Annotated[
    float | str | None,
    Parameter(
        "Each class keeps at least this share of an equal part, in [0, 1]; auto (0.5 if there are classes) or none.",
        _balance,
        kind=str,
        read=_typed,
    ),
]


def share_of(balance: float | str | None, task: str) -> float | None:
    """The share that a checked balance stands for: `auto` is one half of the equal part for classes, else no quotas."""
    if isinstance(balance, str):
        return USUAL if task == "classification" else None
    return balance


def class_names(classes: tuple[str, ...], labels: NDArray[Any]) -> tuple[str, ...]:
    """Names of the classes, or their numbers if they have no names."""
    return classes or tuple(str(number) for number in range(int(labels.max()) + 1))


def groups_of(pool: Pool, seed: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The group of each example and the groups' names: classes, or clusters of the embeddings."""
    if pool.labels is not None and pool.labelled:
        return np.asarray(pool.labels, dtype=np.int64), class_names(pool.classes, pool.labels)
    embeddings = pool.observed.embeddings
    k = min(DEFAULT_CLUSTERS, pool.n)
    centroids = spherical_centroids(embeddings, k, seed, "balance", pool.ids)
    return nearest_centroid(embeddings, centroids), tuple(f"cluster {number}" for number in range(k))


def shares_of(pool: Pool, size: int) -> list[tuple[str, NDArray[np.int64], int]]:
    """Name, positions and count of each group, for a selector that handles groups itself; without empty groups.

    The groups are those given by quotas, or the classes as equally as possible, or all examples as one group.
    """
    if pool.shares is not None:
        return [share for share in pool.shares if share[1].size]
    if not pool.labelled or pool.labels is None:
        return [("all", np.arange(pool.n), size)]
    names = class_names(pool.classes, pool.labels)
    members = [np.flatnonzero(pool.labels == number) for number in range(len(names))]
    quota = share_out(np.array([part.size for part in members]), size)
    return [share for share in zip(names, members, quota.tolist(), strict=True) if share[1].size]


def combine(
    function: Callable[..., Choice],
    pool: Pool,
    size: int,
    balance: float,
    *,
    seed: int,
    parameters: Mapping[str, Any],
    by_group: bool = False,
) -> Choice:
    """Run a selector under quotas.

    Parameters
    ----------
    function
        The selector.
    pool
        What to choose from; must have embeddings if it has no class labels.
    size
        How many to keep.
    balance
        The b of this module's docstring.
    seed
        Seed of the selector and the clusters.
    parameters
        Parameters of the selector.
    by_group
        Whether the selector handles all groups in one call, as registered.
    """
    group, names = groups_of(pool, seed)
    members = [np.flatnonzero(group == number) for number in range(len(names))]
    counts = np.array([part.size for part in members])
    floor = floors(counts, size, balance)
    about: dict[str, Any] = {
        "balance": balance,
        "groups": "classes" if pool.labelled else "clusters",
        "floors": dict(zip(names, floor.tolist(), strict=True)),
    }
    if by_group:
        quota = floor + in_proportion(counts - floor, size - int(floor.sum()))
        shares = tuple(zip(names, members, quota.tolist(), strict=True))
        made = function(replace(pool, shares=shares), size, seed=seed, **parameters)
        return Choice(
            made.positions,
            made.weights,
            {**made.certificate, **about, **_clustered(pool, group, names, made.positions)},
        )
    positions: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    parts: dict[str, Any] = {}

    def run(name: str, where: NDArray[np.int64], count: int) -> None:
        if count == 0:
            return
        made = function(pool.take(where), count, seed=seed, **parameters)  # draws are keyed by id, so not alike
        positions.append(where[made.positions])
        weights.append(np.ones(count) if made.weights is None else made.weights)
        if made.certificate:
            parts[name] = dict(made.certificate)

    for name, where, count in zip(names, members, floor.tolist(), strict=True):
        run(name, where, count)
    free = np.ones(pool.n, dtype=bool)
    for taken in positions:
        free[taken] = False
    run("rest", np.flatnonzero(free), size - int(floor.sum()))
    kept = np.concatenate(positions)
    return Choice(kept, np.concatenate(weights), {**about, "parts": parts, **_clustered(pool, group, names, kept)})


def _clustered(pool: Pool, group: NDArray[np.int64], names: tuple[str, ...], kept: NDArray[np.int64]) -> dict[str, Any]:
    """The number kept per cluster, if clusters replace classes."""
    if pool.labelled:
        return {}
    counts = np.bincount(group[kept], minlength=len(names)).tolist()
    return {
        "cluster_counts": dict(zip(names, counts, strict=True)),
        "cluster_balance": class_balance(group[kept], len(names)),
    }
