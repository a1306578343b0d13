"""The two pruning problems of Yang et al. 2023, on influence vectors.

`prune_by_count` is Eq. 4: of all sets of m examples, find one whose removal changes the head least. The change may be
measured by the loss instead: a change d of the head costs about d^T H d / 2, and some directions cost far more than
others.

`prune_by_bound` is a corrected Eq. 3: the most examples whose removal changes the head by at most epsilon. As printed,
Eq. 3 is satisfied by removing everything, because all vectors sum to 0 at the optimum. Here the change is that of the
head after retraining, with the factor n / (n - m) that the printed sum lacks, corrected by Newton steps on the kept
examples; m is capped; and the kept examples must retain their curvature.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from .certify import LEAST_CURVATURE, certificate, head_change, linear_change, rows_of
from .curvature import Dense, curvature, largest_dense
from .heads import Positions, spans
from .solver import Removal, default_moves, solve
from .vectors import Influence

__all__ = ["Pruned", "proportional", "prune_by_bound", "prune_by_count"]

SPARED = ("parameters", "loss")
SLACK = 1.5  # a linear prediction above this many epsilons is not worth correcting


@dataclass(frozen=True, eq=False)
class Pruned:
    """The removed examples, and the predicted effect.

    Attributes
    ----------
    removed
        Positions of the removed examples, in order.
    certificate
        The predicted change of the head, as from `certify`, with the seed and the moves of the solver.
    seconds
        The time taken; not part of the certificate, which is reproducible.
    """

    removed: Positions
    certificate: Mapping[str, Any]
    seconds: float


def prune_by_count(
    vectors: Influence | ArrayLike,
    remove: int | ArrayLike,
    seed: int = 0,
    *,
    groups: ArrayLike | None = None,
    moves: int | None = None,
    spare: str = "parameters",
    ids: ArrayLike | None = None,
) -> Pruned:
    """Remove the given number of examples so that the head changes least (Eq. 4).

    Parameters
    ----------
    vectors
        From `influence.vectors`. A plain array of rows, one per example, is also allowed; the certificate then has
        only the linear prediction.
    remove
        How many to remove, below n. With `groups`, optionally one count per group, in the order of `np.unique(groups)`.
    seed
        Seed of the solver.
    groups
        The group of each example, such as its class. Each group then loses its exact count: the one given, or its
        proportional share of `remove`.
    moves
        The number of swaps to try; None uses the calibrated number. The result depends on it, never on the clock.
    spare
        How the change is measured: `parameters`, by its length, as in the paper; or `loss`, by the square root of
        d^T H d, which the loss on new data follows more closely. The latter needs the head's Hessian: vectors from
        `influence.vectors`, up to 9,459 parameters.
    ids
        The examples' ids, so that neither the solver's first set nor its swaps depend on their positions.

    Returns
    -------
    Pruned
        The removed positions and the certificate.

    Raises
    ------
    InputError
        If an argument is out of range, or `spare="loss"` is used without the head's Hessian.

    Examples
    --------
    >>> out = prune_by_count([[1.0], [-1.0], [0.25], [3.0], [-2.0]], remove=2)
    >>> out.removed.tolist(), out.certificate["linear"]
    ([0, 1], 0.0)
    """
    owner = "influence.prune_by_count"
    began = time.perf_counter()
    rows = rows_of(owner, vectors)
    n = len(rows)
    checks.integer("seed", owner, seed, low=0)
    group = _groups(owner, groups, n)
    counts = _counts(owner, remove, group, given=groups is not None)
    tried = default_moves(*rows.shape) if moves is None else checks.integer("moves", owner, moves, low=0)
    names = None if ids is None else checks.ids(owner, ids)
    found = solve(_measured(owner, vectors, rows, spare), group, counts, seed, tried, ids=names)
    given = vectors if isinstance(vectors, Influence) else rows
    about = certificate(given, found.removed, group if groups is not None else None)
    return _pruned(found, about, {"seed": seed, "moves": found.moves, "spare": spare}, began)


def prune_by_bound(
    vectors: Influence | ArrayLike,
    epsilon: float,
    max_remove: int,
    seed: int = 0,
    *,
    groups: ArrayLike | None = None,
    moves: int | None = None,
    resolution: int | None = None,
    least_curvature: float = LEAST_CURVATURE,
    ids: ArrayLike | None = None,
) -> Pruned:
    """Remove as many examples as possible while the head changes by at most epsilon (a corrected Eq. 3).

    The search tries counts up to `max_remove`, each solved separately, between the largest found within the bound and
    the smallest found beyond it. A set is within the bound if its corrected change, and the change after a single
    Newton step, are at most epsilon, and if the kept examples have `least_curvature` of the full curvature in every
    direction. If no set qualifies, nothing is removed.

    Parameters
    ----------
    vectors
        From `influence.vectors`. For a plain array only the linear prediction is bounded, and the certificate says so.
    epsilon
        The largest |change of theta| allowed, above 0.
    max_remove
        The maximum number of examples to remove, below n.
    seed
        Seed of the solver.
    groups
        The group of each example; each then loses its proportional share.
    moves
        The number of swaps to try per count; None uses the calibrated number.
    resolution
        How many examples below the largest possible count the search may stop; None means a thousandth of n.
    least_curvature
        The share of the curvature that must remain, in [0, 1).
    ids
        The examples' ids, so that neither the solver's first set nor its swaps depend on their positions.

    Returns
    -------
    Pruned
        The removed positions and the certificate.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> out = prune_by_bound([[1.0], [-1.0], [0.25], [3.0], [-2.0]], epsilon=0.1, max_remove=3)
    >>> out.removed.tolist(), out.certificate["linear"]
    ([1, 3, 4], 0.0)
    """
    owner = "influence.prune_by_bound"
    began = time.perf_counter()
    rows = rows_of(owner, vectors)
    n = len(rows)
    bound = checks.number("epsilon", owner, epsilon, low=0.0, open_low=True)
    most = checks.integer("max_remove", owner, max_remove, low=1, high=n - 1)
    checks.integer("seed", owner, seed, low=0)
    group = _groups(owner, groups, n)
    tried = default_moves(*rows.shape) if moves is None else checks.integer("moves", owner, moves, low=0)
    fine = max(1, n // 1000) if resolution is None else checks.integer("resolution", owner, resolution, low=1)
    least = checks.number("least_curvature", owner, least_curvature, low=0.0, high=1.0, open_high=True)
    names = None if ids is None else checks.ids(owner, ids)
    given = vectors if isinstance(vectors, Influence) else rows
    best: tuple[Removal, Mapping[str, Any] | None] = (Removal(np.empty(0, dtype=np.int64), 0.0, 0, 0), None)
    low, high, made = 0, most + 1, 0
    count, width = most, 2 * n  # the interval's width; if a guess did not halve it, the middle comes next
    while high - low > (fine if low else 1):
        found = solve(rows, group, proportional(group, count), seed, tried, ids=names)
        made += found.moves
        within, change, known = _within(given, found, bound, least)
        if within:
            best, low = (found, known), count
        else:
            high = count
        guess, wide, width = n - (n - count) * change / bound, width, high - low
        count = _next(low, high, guess if width <= wide / 2 else np.nan)
    about = certificate(given, best[0].removed, group if groups is not None else None, best[1])
    what = "the corrected prediction" if isinstance(given, Influence) else "the linear prediction"
    extra = {"seed": seed, "moves": made, "epsilon": bound, "max_remove": most, "least_curvature": least}
    if best[0].removed.size == 0:
        about["notes"] = [*about["notes"], "No set was found whose removal stays within epsilon: nothing is removed."]
    return _pruned(best[0], about, {**extra, "bounded": what}, began)


def proportional(groups: Positions, remove: int) -> Positions:
    """Shares of `remove` in proportion to the groups' sizes, by largest remainder; of ties the larger group first."""
    sizes = np.bincount(groups)
    shares = remove * sizes
    counts = shares // groups.size
    left = remove - int(counts.sum())
    order = np.lexsort((-sizes, -(shares % groups.size)))
    counts[order[:left]] += 1
    return counts.astype(np.int64)


def _measured(owner: str, vectors: object, rows: NDArray[Any], spare: object) -> NDArray[Any]:
    """The rows whose sum should be short."""
    checks.choice("spare", owner, spare, SPARED)
    if spare == "parameters":
        return rows
    hessian = curvature(vectors.head, right_sides=len(rows), owner=owner) if isinstance(vectors, Influence) else None
    if not isinstance(hessian, Dense):
        what = "a plain array of rows" if hessian is None else f"{rows.shape[1]:,} parameters"
        raise InputError(
            f"spare of {owner} can be 'loss' only with the head's Hessian (vectors from influence.vectors, up to "
            f"{largest_dense():,} parameters); got {what}."
        )
    out = np.empty(rows.shape, dtype=np.float32)
    for part in spans(*rows.shape):
        out[part] = hessian.rooted(np.asarray(rows[part], dtype=np.float64))
    return out


def _next(low: int, high: int, guess: float) -> int:
    """The next count to try, inside (low, high): the guess, or the middle without one.

    The length of the shortest sum hardly depends on the count, so the change goes like n / (n - m). This tells at which
    count the last change would have met the bound.
    """
    margin = (high - low) / 10
    inside = round(min(max(guess, low + margin), high - margin)) if np.isfinite(guess) else (low + high) // 2
    return min(max(inside, low + 1), high - 1)


def _within(
    given: Influence | NDArray[Any], found: Removal, bound: float, least: float
) -> tuple[bool, float, Mapping[str, Any] | None]:
    """Whether a removal stays within the bound, the change that was compared, and what the head predicts."""
    convention = given.convention if isinstance(given, Influence) else "1/(n-m)"
    linear = linear_change(np.asarray(given), found.removed, convention)
    if not isinstance(given, Influence):
        return linear <= bound, linear, None
    if linear > SLACK * bound:
        return False, linear, None
    known = head_change(given, found.removed)
    change = max(value for value in (known["newton"], known["corrected"]) if value is not None)
    if known["curvature"] is None or known["curvature"] < least:
        return False, float("inf"), known  # its change does not tell which count to try next
    return change <= bound, change, known


def _pruned(found: Removal, about: dict[str, Any], extra: Mapping[str, Any], began: float) -> Pruned:
    return Pruned(checks.frozen(found.removed), {**about, **extra}, time.perf_counter() - began)


def _groups(owner: str, groups: ArrayLike | None, n: int) -> Positions:
    if groups is None:
        return np.zeros(n, dtype=np.int64)
    given = np.asarray(groups)
    if given.shape != (n,) or given.dtype.kind not in "biuU":
        raise InputError(
            f"groups of {owner} must be {n} integers or strings, one per example; got {given.dtype} of shape "
            f"{given.shape}."
        )
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def _counts(owner: str, remove: Any, groups: Positions, given: bool) -> Positions:
    """The number to remove per group."""
    if not given or np.ndim(remove) == 0:
        return proportional(groups, checks.integer("remove", owner, remove, low=1, high=groups.size - 1))
    sizes = np.bincount(groups)
    counts = checks.array("remove", owner, remove, ndim=1, rows=sizes.size)
    if counts.dtype.kind not in "iu" or (counts < 0).any() or (counts > sizes).any():
        raise InputError(
            f"remove of {owner} must be integers from 0 to the size of each group; got {counts.tolist()[:10]} for "
            f"groups of {sizes.tolist()[:10]}."
        )
    if not 0 < counts.sum() < groups.size:
        raise InputError(f"remove of {owner} must leave one and remove one; got {int(counts.sum())} of {groups.size}.")
    return counts.astype(np.int64)
