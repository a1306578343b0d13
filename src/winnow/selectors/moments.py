"""Moment matching: a few weighted examples with the moments of all (Wang et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.errors import InputError
from ..core.progress import track
from .balance import shares_of
from .pool import Choice, Pool

__all__ = ["moments"]

Vector = NDArray[np.float64]
Positions = NDArray[np.int64]

TRACE = 1e-9  # share of an example's weight for one that is kept only to reach the size


@dataclass(frozen=True)
class _Settings:
    """The settings for a group."""

    size: int
    order: int | None
    dims: int | None
    activation: str
    refine: bool
    seed: int


@registry.selector(
    needs={"embeddings"},
    paper="Wang et al. 2025",
    by_group=True,
    cost=registry.Cost("n", memory=9),
    tasks=("classification", "regression", "unlabelled"),
)
def moments(
    pool: Pool,
    size: int,
    *,
    seed: int = 0,
    order: int | None = None,
    dims: int | None = None,
    activation: str = "relu",
    refine: bool = False,
) -> Choice:
    """Keep a few examples, weighted so that the moments of the embeddings are those of all.

    Classes are compressed separately, all to the same size if possible; an example's weight is the number of examples
    it represents. For regression the moments are those that a squared loss depends on: of x, of x times the target, and
    of the squared target. Embeddings are reduced to their `dims` principal directions; the rest is not matched. The
    certificate gives the share of the rest (`spread_lost`), the largest relative error of the matched moments, and the
    expected error of a mean over the examples, in standard deviations (for the matched part by `wn.moments.advise`, for
    the rest that of a random subset with these weights), with that of a random subset for comparison. A class of which
    nothing is kept, because the size is below the number of classes, has a moment error of 1.

    Parameters
    ----------
    pool
        Must have embeddings.
    size
        How many to keep.
    seed
        Not used: nothing is random.
    order
        The highest order matched. If None, order 1 in as many directions as the size allows; if that is all of them,
        the order that `wn.moments.advise` suggests.
    dims
        The number of principal directions in which moments are matched; if None, as many as the order and size allow.
    activation
        The activation of the model to be trained, as for `wn.moments.advise`: with `relu`, orders beyond 2 do not help.
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
    for name, where, count in track(shares_of(pool, size), "moments"):
        targets = None if pool.task != "regression" or pool.labels is None else pool.labels[where].astype(np.float64)
        asked = _Settings(count, order, dims, activation, refine, seed)
        kept, counts, about = _compressed(points[where], targets, asked)
        positions.append(where[kept])
        weights.append(counts)
        parts[name] = about
    return Choice(np.concatenate(positions), np.concatenate(weights), _certificate(pool, parts))


def _compressed(points: Vector, targets: Vector | None, asked: _Settings) -> tuple[Positions, Vector, dict[str, Any]]:
    """Return which examples of a group stay, their weights, and details."""
    from ..methods.moments import advise, compress, moment_error
    from ..methods.moments.principal import principal

    n, size = len(points), asked.size
    if not size:
        return np.zeros(0, dtype=np.int64), np.zeros(0), _known(0, 0, 0, 1.0, 1.0, None, None)
    if size >= n:
        return np.arange(n), np.ones(n), _known(n, None, points.shape[1], 0.0, 0.0, 0.0, 0.0)
    beside = 0 if targets is None else 1
    everywhere, _ = principal(points)
    order, directions = _advised(n, everywhere.shape[1], beside, asked)
    if not order:  # too few for any moment: the examples nearest to the mean represent all
        nearest = np.argsort(np.square(points - points.mean(axis=0)).sum(axis=1), kind="stable")[:size]
        return nearest, np.full(size, n / size), _known(size, 0, 0, 1.0, 0.0, None, None)
    reduced = everywhere[:, :directions]
    spread = float(everywhere.var(axis=0).sum())
    lost = 1.0 - float(reduced.var(axis=0).sum()) / spread if directions < everywhere.shape[1] else 0.0
    kept, counts = compress(reduced, size, order, seed=asked.seed, refine=asked.refine, targets=targets)
    rows = reduced if targets is None else np.column_stack([reduced, targets])
    kept, counts = _filled(rows, kept, counts, size)
    error = float(moment_error(reduced, kept, counts, order, targets=targets))
    advice = advise(n, directions, size, asked.activation, targets=beside)
    matched = advice.errors.get(order)
    unmatched = max(0.0, float(np.square(counts).sum() / counts.sum() ** 2) - 1.0 / n)  # of a random draw so weighted
    expected = None if matched is None else float(np.sqrt((1.0 - lost) * matched**2 + lost * unmatched))
    return kept, counts, _known(size, order, directions, lost, error, expected, advice.random)


def _known(
    size: int, order: int | None, dims: int, lost: float, error: float, expected: float | None, random: float | None
) -> dict[str, Any]:
    return {
        "size": size,
        "order": order,
        "dims": dims,
        "spread_lost": lost,
        "moment_error": error,
        "expected_error": expected,
        "random_error": random,
    }


def _advised(n: int, rank: int, targets: int, asked: _Settings) -> tuple[int, int]:
    """The order and the number of directions: as given, or what fits; (0, 0) if nothing does."""
    from ..methods.moments import advise, feasible_size

    size, order = asked.size, asked.order or 1
    if asked.dims is not None:
        directions = min(asked.dims, rank)
        if asked.order is None and feasible_size(directions, 1, targets) > size:
            raise InputError(
                "dims of selector 'moments' must leave a group no more moments than examples that are kept of it; "
                f"{directions} directions have {feasible_size(directions, 1, targets)} up to the first order, and "
                f"{size} are kept."
            )
    else:
        directions = 0
        while directions < rank and feasible_size(directions + 1, order, targets) <= size:
            directions += 1
        if not directions and asked.order is None:
            return 0, 0
        directions = max(1, directions)
    if asked.order is None and directions == min(rank, asked.dims or rank):
        order = advise(n, directions, size, asked.activation, targets=targets).order
    return order, directions


def _filled(rows: Vector, kept: Positions, counts: Vector, size: int) -> tuple[Positions, Vector]:
    """Return exactly `size` examples: copies of kept ones share their weight, and any others get almost none.

    Compression merges copies, and on grids it may end below the size. Sharing weight among copies changes no moment;
    further examples then take a trace of the weight of their nearest kept example.
    """
    from scipy.spatial import cKDTree

    missing = size - kept.size
    if not missing:
        return kept, counts
    out = np.setdiff1d(np.arange(len(rows)), kept)
    distance, nearest = cKDTree(rows[kept]).query(rows[out])
    extra = np.argsort(distance, kind="stable")[:missing]
    parts, held = counts.copy(), np.ones(kept.size)
    copies = distance[extra] == 0.0
    np.add.at(held, nearest[extra[copies]], 1.0)
    parts /= held
    fresh = np.where(copies, parts[nearest[extra]], TRACE * parts[nearest[extra]])
    np.subtract.at(parts, nearest[extra[~copies]], fresh[~copies])
    return np.concatenate([kept, out[extra]]), np.concatenate([parts, fresh])


def _certificate(pool: Pool, parts: dict[str, Any]) -> dict[str, Any]:
    """Describe what was matched, for the worst group, and per group."""

    def worst(name: str, choose: Any, default: Any = None) -> Any:
        return choose((part[name] for part in parts.values() if part[name] is not None), default=default)

    return {
        "matched_within": "classes" if pool.labelled else "all",
        "order": worst("order", min),
        "dims": worst("dims", min),
        "spread_lost": worst("spread_lost", max),
        "moment_error": worst("moment_error", max),
        "expected_error": worst("expected_error", max),
        "random_error": worst("random_error", max),
        "parts": parts,
    }
