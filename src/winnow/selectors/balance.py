"""Quotas around any selector: no class (or cluster, if there are no classes) falls below its floor.

`balance=b` in [0, 1] guarantees each of K classes at least b times its equal share, size / K, or all it has if
that is less. The selector first fills every class's floor from that class alone, then the rest from the remaining
examples of all classes. A selector whose weights represent everything it chose from (`by_group`) instead gets the
number to keep per class: its floor and a part of the rest, in proportion to what the class has left. If a class is too
small for its floor, the difference is distributed over the others, so b = 1 means as equal as the data allow;
everything sums exactly to the size.

Quotas change how common the classes are: a floor is filled first, and the rest is drawn over it. Where classes are of
very different size and hard to tell apart, a network trained on rare classes made common predicts them too often, and
accuracy falls. So `auto` guarantees half of an equal share, or half of the rarest class's own share of the data if that
is less: no class vanishes, and hardly any becomes much more common than it is.

With several labels per example, at least b size / K of the kept examples have each of the K labels, or all that have it
if they are fewer. Floors are filled label by label, the rarest first: an example that was kept for a rarer label counts
for all labels it has, and only what is still missing is chosen. The rest is chosen from all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, Source
from ..artefacts.quotas import class_balance, floors, in_proportion, label_floors, share_out
from ..core import checks
from ..core.errors import InputError, NotDefinedError
from ..core.request import Parameter
from ..signals.clusters import DEFAULT_CLUSTERS, nearest_centroid, spherical_centroids
from .pool import Choice, Pool

__all__ = ["Balance", "class_counts", "class_names", "combine", "groups_of", "share_of", "shares_of"]

USUAL = 0.5  # of an equal part, or of the rarest class's own part, is what "auto" guarantees each class


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
        "Each class or label keeps at least this share of an equal part, in [0, 1]; none; or auto (0.5, less for rare "
        "classes).",
        _balance,
        kind=str,
        read=_typed,
    ),
]


def share_of(balance: float | str | None, task: str, counts: NDArray[np.int64] | None = None) -> float | None:
    """Return the share of an equal part that a checked balance stands for; None if there are no quotas.

    Parameters
    ----------
    balance
        As checked.
    task
        What the data are for; `auto` sets no quotas without classes.
    counts
        The number of examples per class. `auto` then guarantees no class more than half of what it has in the data,
        where that is less than half of an equal part.
    """
    if not isinstance(balance, str):
        return balance
    if task not in ("classification", "multilabel"):
        return None
    if counts is None or task == "multilabel":
        return USUAL
    some = counts[counts > 0]
    return USUAL * min(1.0, float(some.min()) * some.size / float(some.sum()))


def class_counts(given: Scores | Signals | Source) -> NDArray[np.int64] | None:
    """Return the number of examples per class; None if they do not have one class each."""
    if given.task != "classification" or given.labels is None:
        return None
    return np.bincount(np.asarray(given.labels, dtype=np.int64))


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
    if pool.task == "multilabel" and pool.labels is not None:
        return _by_label(_Parts(function, pool, seed, parameters), size, balance, weighs=by_group)
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
        about["quotas"] = dict(zip(names, quota.tolist(), strict=True))  # exact, where floors are only a lower limit
        shares = tuple(zip(names, members, quota.tolist(), strict=True))
        made = function(replace(pool, shares=shares), size, seed=seed, **parameters)
        return Choice(
            made.positions,
            made.weights,
            {**made.certificate, **about, **_clustered(pool, group, names, made.positions)},
        )
    parts = _Parts(function, pool, seed, parameters)
    for name, where, count in zip(names, members, floor.tolist(), strict=True):
        parts.run(name, where, count)
    made = parts.with_rest(size)
    return replace(made, certificate={**about, **made.certificate, **_clustered(pool, group, names, made.positions)})


class _Parts:
    """Runs a selector on one part of a pool after the other, and joins what it chose."""

    def __init__(self, function: Callable[..., Choice], pool: Pool, seed: int, parameters: Mapping[str, Any]) -> None:
        self.pool, self.free = pool, np.ones(pool.n, dtype=bool)
        self._function, self._settings = function, {"seed": seed, **parameters}
        self._positions: list[NDArray[np.int64]] = []
        self._weights: list[NDArray[np.float64]] = []
        self._certificates: dict[str, Any] = {}

    def run(self, name: str, where: NDArray[np.int64], count: int) -> None:
        """Choose `count` of the examples at these positions."""
        if count == 0:
            return
        made = self._function(self.pool.take(where), count, **self._settings)  # draws are keyed by id, so not alike
        self._positions.append(where[made.positions])
        self._weights.append(np.ones(count) if made.weights is None else made.weights)
        self.free[where[made.positions]] = False
        if made.certificate:
            self._certificates[name] = dict(made.certificate)

    def with_rest(self, size: int) -> Choice:
        """Fill up the size from all that are not chosen yet; return everything chosen."""
        self.run("rest", np.flatnonzero(self.free), size - sum(part.size for part in self._positions))
        return Choice(np.concatenate(self._positions), np.concatenate(self._weights), {"parts": self._certificates})


def _by_label(parts: _Parts, size: int, balance: float, weighs: bool) -> Choice:
    """Run a selector under quotas of labels: see the module."""
    held = np.asarray(parts.pool.labels) != 0
    names, counts = parts.pool.classes or tuple(map(str, range(held.shape[1]))), held.sum(axis=0)
    floor = label_floors(counts, size, balance)
    for label in np.argsort(counts, kind="stable").tolist():
        missing = int(floor[label]) - int((held[:, label] & ~parts.free).sum())
        parts.run(names[label], np.flatnonzero(held[:, label] & parts.free), max(0, missing))
    made = parts.with_rest(size)
    if weighs and np.ptp(made.weights) > 0:  # type: ignore[arg-type]
        raise NotDefinedError(
            "balance by label is not defined for a selector whose weights represent everything it chose from; pass "
            "balance=None."
        )
    about = {"balance": balance, "groups": "labels", "floors": dict(zip(names, floor.tolist(), strict=True))}
    return replace(made, certificate={**about, **made.certificate})


def _clustered(pool: Pool, group: NDArray[np.int64], names: tuple[str, ...], kept: NDArray[np.int64]) -> dict[str, Any]:
    """The number kept per cluster, if clusters replace classes."""
    if pool.labelled:
        return {}
    counts = np.bincount(group[kept], minlength=len(names)).tolist()
    return {
        "cluster_counts": dict(zip(names, counts, strict=True)),
        "cluster_balance": class_balance(group[kept], len(names)),
    }
