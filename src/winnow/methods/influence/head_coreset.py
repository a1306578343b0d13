"""The exact weighted head: a few weighted examples whose head is the head of all.

Weights that match the gradients of all examples at the trained head leave it stationary, and the weighted problem is
convex, so a head trained on the few is the same head. This is moment matching of order 1 (`moments`) on influence
vectors. It takes as many examples as there are independent conditions: parameters, and the classes' masses. More
examples allow more even weights; with fewer, the weights are those that change the loss least, and the certificate says
that they are not exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...artefacts.quotas import in_proportion
from ...core import checks
from ...core.errors import InputError
from .fit_head import fit_head, fitted
from .head_conditions import Asked, Conditions
from .heads import Floats, Head, Positions
from .matched_gradients import PRECISE, Anchor, anchors, gradient_rows

__all__ = ["HeadCoreset", "coreset_of", "head_coreset"]

OWNER = "influence.head_coreset"
MOST_MEMORY = 4 << 30  # bytes of the rows to match
COVERS = (
    "The head on these features with this damping. Other features, another damping or a network trained from scratch "
    "give another head; dampings= and heads= match several at once."
)


@dataclass(frozen=True, eq=False)
class HeadCoreset:
    """A few weighted examples that stand for all.

    Attributes
    ----------
    positions
        Positions of the examples, in order.
    weights
        One per example; they sum to n, and within each class to the size of the class.
    certificate
        Predicted and verified change of the head, largest weight, effective size, and whether it is exact.
    """

    positions: Positions
    weights: Floats
    certificate: Mapping[str, Any]


def head_coreset(
    features: ArrayLike,
    labels: ArrayLike,
    size: int,
    damping: float,
    *,
    loss: str = "softmax",
    dampings: ArrayLike = (),
    heads: int = 0,
    largest: float | None = None,
    counts: ArrayLike | None = None,
    seed: int = 0,
    moves: int | None = None,
    ids: ArrayLike | None = None,
) -> HeadCoreset:
    """Choose weighted examples so that the head trained on them is the head trained on all.

    Parameters
    ----------
    features
        n x q, as given; add a column of ones for a bias.
    labels
        Class numbers, or targets for `loss="squared"`.
    size
        How many examples to keep. From about parameters + classes on, the head is exact.
    damping
        The regulariser of the head, lam of mean loss + lam / 2 |theta|^2.
    loss
        `softmax` or `squared`.
    dampings
        Other regularisers at which the head should be the same, too. Each takes as many examples as the first.
    heads
        How many bootstrapped heads to match as well: the weighted loss then has the slope of the full loss at several
        places, and depends less on how the head is trained.
    largest
        The largest weight, relative to the mean weight n / size. Exact weights are certain to exist from
        size / (size - parameters - classes) on, and are tried for below. If not given, that bound or 2.
    counts
        How many examples of each class to keep; in proportion to the classes if not given.
    seed
        Seed of the choice and of the bootstrap.
    moves
        The number of swaps to try; None uses the calibrated number.
    ids
        The examples' ids, from which everything random is drawn; positions if not given.

    Returns
    -------
    HeadCoreset
        Positions, weights and certificate.

    Raises
    ------
    InputError
        If an argument is out of range, or the gradients do not fit in memory.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = np.hstack([rng.normal(size=(300, 3)), np.ones((300, 1))]), rng.integers(0, 3, 300)
    >>> found = head_coreset(x, y, 40, 0.01)
    >>> theta = [fit_head(x, y, 0.01).theta, fit_head(x[found.positions], y[found.positions], 0.01,
    ...          weights=found.weights).theta]
    >>> bool(np.allclose(*theta, atol=1e-8))
    True
    """
    first = fit_head(features, labels, damping, loss=loss)  # checks all four
    rows = np.asarray(features, dtype=np.float64)
    n = len(rows)
    squared = loss == "squared"
    given = np.asarray(labels, dtype=np.float64).reshape(n, -1) if squared else np.asarray(labels).astype(np.int64)
    checks.integer("size", OWNER, size, low=1, high=n)
    names = np.arange(n) if ids is None else checks.ids(OWNER, ids)
    head = Head(rows, first.outputs, given, float(damping), loss)
    asked = Asked.of(OWNER, dampings, heads, largest, seed, moves)
    group: Positions = np.zeros(n, dtype=np.int64) if squared else np.asarray(labels).astype(np.int64)
    members = np.bincount(group)
    if counts is None:
        parts = in_proportion(members, size)
    else:
        parts = checks.array("counts", OWNER, counts, ndim=1, rows=members.size).astype(np.int64)
        if (parts < 0).any() or (parts > members).any() or parts.sum() != size:
            raise InputError(
                f"counts of {OWNER} must be one number per class, at most its examples, with the sum {size}; got "
                f"{parts.tolist()} for {members.tolist()}."
            )
    return coreset_of(head, first.theta, group, parts, asked, names, fixed=counts is not None)


def coreset_of(
    head: Head, theta: Floats, group: Positions, counts: Positions, asked: Asked, ids: NDArray[Any], fixed: bool
) -> HeadCoreset:  # fmt: skip
    """`head_coreset` without checks: `theta` is near the optimum, `group` gives the masses, `counts` how many to keep.

    `fixed` says that the counts must be kept even where other counts would allow an exact head.
    """
    rows = np.asarray(head.features, dtype=np.float64)
    found = fitted(rows, head.labels, head.damping, head.loss, theta, None, PRECISE)
    places = anchors(head, found, asked.dampings, asked.heads, asked.seed, ids)
    size, n = int(counts.sum()), head.n
    numbers = n * head.parameters * len(places)
    if 8 * numbers > MOST_MEMORY:
        raise InputError(
            f"features of {OWNER} would need {8 * numbers / 2**30:.0f} GB of gradients ({n} examples x "
            f"{head.parameters} parameters x {len(places)} heads), above {MOST_MEMORY >> 30} GB: reduce the "
            "features first."
        )
    gradients = np.concatenate([gradient_rows(head, place) for place in places], axis=1)
    main = head.parameters if head.loss == "squared" else head.parameters - head.shape[0]
    problem = Conditions(gradients, main, group, counts, asked, ids)
    if size == n:
        kept, weights, exact, way = np.arange(n), np.ones(n), True, "all"
    else:
        kept, weights, exact, way = problem.solved(fixed)
    told = _certificate(head, found.theta, places, kept, weights, problem)
    return HeadCoreset(kept, weights, {"exact": exact, "way": way, **told})


def _certificate(
    head: Head, theta: Floats, places: list[Anchor], kept: Positions, weights: Floats, problem: Conditions
) -> dict[str, Any]:
    """The predicted change of the head, and the change found by training on the kept examples from zero."""
    rows = np.asarray(head.features, dtype=np.float64)[kept]
    moved = problem.gradients[kept, : problem.main].T @ weights / head.n
    start = np.zeros_like(theta)
    changes = {}
    for name, damping, wanted in places:
        if name.startswith("bootstrap"):
            continue
        again = fitted(rows, head.labels[kept], damping, head.loss, start, weights, PRECISE)
        changes[name] = float(np.linalg.norm(again.theta - wanted))
    counts = np.bincount(problem.group[kept], minlength=problem.members.size)
    return {
        "conditions": problem.rank,
        "predicted_loss": float(moved @ moved) / 2,
        "verified": changes.pop("trained"),
        "verified_at": changes,
        "head_length": float(np.linalg.norm(theta)),
        "damping": head.damping,
        "dampings": list(problem.asked.dampings),
        "heads": problem.asked.heads,
        "largest_weight": float(weights.max() * kept.size / head.n),
        "smallest_weight": float(weights.min() * kept.size / head.n),
        "effective_size": float(weights.sum() ** 2 / np.square(weights).sum()),
        "lost_classes": int(((counts == 0) & (problem.members > 0)).sum()),
        "covers": COVERS,
    }
