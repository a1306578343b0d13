"""Moment matching: few weighted examples with the moments of all (Wang et al. 2025)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checks, registry
from ..errors import InputError
from ..progress import track
from .combine import class_names
from .pool import Choice, Pool
from .sharing import share_out

__all__ = ["moments"]

Vector = NDArray[np.float64]
Positions = NDArray[np.int64]

HIGHEST = 5  # orders beyond gain little at sizes that people keep
TRACE = 1e-9  # of an example's weight, for one that is kept only to reach the size


@registry.selector(needs={"embeddings"}, paper="Wang et al. 2025", by_group=True)
def moments(
    pool: Pool,
    size: int,
    *,
    seed: int = 0,
    order: int | None = None,
    dims: int | None = None,
    refine: bool = False,
) -> Choice:
    """Keep few examples, weighted so that the moments of the embeddings are those of all.

    Classes are compressed each on its own, all to the same size as far as they go; an example's weight is the number
    of examples it stands for. For regression the moments are those that a squared loss depends on: of x, of x times
    the target, and of its square. Embeddings are reduced to their `dims` principal directions, and what lies outside
    those is not matched: the certificate states its share (`spread_lost`), and the largest relative error of what is
    matched.

    Parameters
    ----------
    pool
        With embeddings.
    size
        How many to keep.
    seed
        Of what is drawn in refining.
    order
        The highest order matched. If None, the first in as many directions as the size allows, and more only where
        all of them are matched already.
    dims
        Principal directions in which moments are matched; if None, as many as the order and the size allow.
    refine
        Spend more time for a smaller error.
    """
    if order is not None:
        checks.integer("order", "selector 'moments'", order, low=1)
    if dims is not None:
        checks.integer("dims", "selector 'moments'", dims, low=1)
    points = pool.points
    positions: list[Positions] = []
    weights: list[Vector] = []
    parts: dict[str, Any] = {}
    for name, where, count in track(_groups(pool, size), "moments"):
        targets = None if pool.task != "regression" or pool.labels is None else pool.labels[where].astype(np.float64)
        kept, counts, about = _compressed(points[where], targets, count, order, dims, refine, seed)
        positions.append(where[kept])
        weights.append(counts)
        parts[name] = about
    return Choice(np.concatenate(positions), np.concatenate(weights), _certificate(pool, parts))


def _groups(pool: Pool, size: int) -> list[tuple[str, Positions, int]]:
    """The classes with how many to keep of each, or everything as one group."""
    if not pool.labelled or pool.labels is None:
        return [("all", np.arange(pool.n), size)]
    names = class_names(pool.classes, pool.labels)
    members = [np.flatnonzero(pool.labels == number) for number in range(len(names))]
    quota = share_out(np.array([part.size for part in members]), size)
    return [group for group in zip(names, members, quota.tolist(), strict=True) if group[2]]


def _compressed(
    points: Vector, targets: Vector | None, size: int, order: int | None, dims: int | None, refine: bool, seed: int
) -> tuple[Positions, Vector, dict[str, Any]]:
    """Which of a group stay, their weights, and what is known about it."""
    from ..moments import compress, moment_error  # numba, which that room loads, only where it is wanted
    from ..moments.principal import principal

    if size >= len(points):
        about = {"size": len(points), "order": None, "dims": points.shape[1], "spread_lost": 0.0, "moment_error": 0.0}
        return np.arange(len(points)), np.ones(len(points)), about
    everywhere, _ = principal(points)
    chosen, directions = _advised(everywhere.shape[1], size, 0 if targets is None else 1, order, dims)
    if not chosen:  # too few for a moment: the example nearest the mean stands for all, copies fill the size
        nearest = np.argsort(np.square(points - points.mean(axis=0)).sum(axis=1), kind="stable")[:size]
        about = {"size": size, "order": 0, "dims": 0, "spread_lost": 1.0, "moment_error": 0.0}
        return nearest, np.full(size, len(points) / size), about
    reduced, share = principal(points, directions)
    kept, counts = compress(reduced, size, chosen, seed=seed, refine=refine, targets=targets)
    rows = reduced if targets is None else np.column_stack([reduced, targets])
    kept, counts = _filled(rows, kept, counts, size)
    error = moment_error(reduced, kept, counts, chosen, targets=targets)
    about = {
        "size": size,
        "order": chosen,
        "dims": reduced.shape[1],
        "spread_lost": 1.0 - share,
        "moment_error": float(error),
    }
    return kept, counts, about


def _advised(rank: int, size: int, targets: int, order: int | None, dims: int | None) -> tuple[int, int]:
    """The order and the directions: what is asked for, or what fits."""
    from ..moments import feasible_size

    if order is None and dims is not None and feasible_size(min(dims, rank), 1, targets) > size:
        raise InputError(
            f"dims of selector 'moments' must leave the moments fewer than the examples kept of a group; "
            f"{min(dims, rank)} directions have {feasible_size(min(dims, rank), 1, targets)} first moments, and "
            f"{size} are kept."
        )
    least = order or 1
    fitting = 0
    while fitting < rank and feasible_size(fitting + 1, least, targets) <= size:
        fitting += 1
    if dims is None and fitting == 0 and order is None:
        return 0, 0
    directions = min(dims, rank) if dims is not None else max(1, fitting)
    if order is None:
        while (
            least < HIGHEST
            and directions == min(rank, dims or rank)
            and feasible_size(directions, least + 1, targets) <= size // 2
        ):
            least += 1
    return least, directions


def _filled(rows: Vector, kept: Positions, counts: Vector, size: int) -> tuple[Positions, Vector]:
    """Exactly `size` examples: copies of kept ones share their weight, and any others get next to none.

    Compression merges copies, and on grids it may end below the size. Sharing among copies changes no moment; what is
    still missing then takes a trace of the weight of its nearest kept example.
    """
    missing = size - kept.size
    if not missing:
        return kept, counts
    out = np.setdiff1d(np.arange(len(rows)), kept)
    gaps = [np.square(rows[kept] - row).sum(axis=1) for row in rows[out]]
    nearest = np.array([int(gap.argmin()) for gap in gaps])
    distance = np.array([gap[at] for gap, at in zip(gaps, nearest, strict=True)])
    extra = np.argsort(distance, kind="stable")[:missing]
    parts, held = counts.copy(), np.ones(kept.size)
    copies = distance[extra] == 0.0
    np.add.at(held, nearest[extra[copies]], 1.0)
    parts /= held
    fresh = np.where(copies, parts[nearest[extra]], TRACE * parts[nearest[extra]])
    np.subtract.at(parts, nearest[extra[~copies]], fresh[~copies])
    return np.concatenate([kept, out[extra]]), np.concatenate([parts, fresh])


def _certificate(pool: Pool, parts: dict[str, Any]) -> dict[str, Any]:
    """What was matched, for the worst group, and group by group."""
    return {
        "matched_within": "classes" if pool.labelled else "all",
        "order": min((part["order"] for part in parts.values() if part["order"] is not None), default=None),
        "dims": min(part["dims"] for part in parts.values()),
        "spread_lost": max(part["spread_lost"] for part in parts.values()),
        "moment_error": max(part["moment_error"] for part in parts.values()),
        "parts": parts,
    }
