"""Influence: remove examples whose effects on a trained head cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from .pool import Choice, Pool

if TYPE_CHECKING:
    from ..methods.influence import FittedHead, Influence

__all__ = ["head_of", "influence", "length_of", "moves_of", "told"]

TOLD = ("linear", "newton", "corrected", "printed", "random", "curvature", "convention", "damping", "moves", "covers")


@registry.selector(
    needs={"embeddings"},
    paper="Yang et al. 2023 (Dataset Pruning, Eq. 4)",
    tasks=("classification",),
    cost=registry.Cost("n", memory=9),
)
def influence(
    pool: Pool,
    size: int,
    *,
    seed: int = 0,
    damping: float = 0.01,
    stratify: bool = True,
    moves: int | None = None,
    spare: str = "parameters",
) -> Choice:
    """Remove the set whose influence vectors cancel best, so that a head on the embeddings hardly changes.

    A softmax head is trained on the scaled embeddings and a column of ones, by mean L + damping / 2 |theta|^2. Of all
    sets of n - size examples, the solver searches for one whose removal changes that head least
    (`influence.prune_by_count`). The certificate predicts the change of the head under retraining. It is about the head
    on fixed embeddings: a network retrained from scratch changes for other reasons too.

    With `balance` every class is solved separately, with its own head; `stratify` keeps the classes' shares and solves
    them together, so prefer it unless the shares must change.

    Parameters
    ----------
    pool
        Must have embeddings and class labels.
    size
        How many to keep.
    seed
        Seed of the solver.
    damping
        The regulariser of the head, above 0.
    stratify
        Whether each class keeps its exact share, up to rounding.
    moves
        The number of swaps to try; None uses the calibrated number.
    spare
        What should change least: the `parameters` of the head, or its `loss`.
    """
    from ..methods.influence import prune_by_count
    from ..methods.influence.pruned import SPARED

    owner = "selector 'influence'"
    vectors, head, labels = head_of(pool, damping, owner)
    if size == pool.n:
        return Choice(np.arange(size), certificate={"removed": 0, "head_length": length_of(head)})
    checks.choice("spare", owner, spare, SPARED)
    found = prune_by_count(
        vectors,
        pool.n - size,
        seed,
        groups=labels if stratify else None,
        moves=moves_of(moves, owner),
        spare=spare,
        ids=pool.ids,
    )
    kept = np.setdiff1d(np.arange(pool.n), found.removed)
    return Choice(kept, certificate={**told(found.certificate, head), "spare": spare})


def head_of(pool: Pool, damping: object, owner: str) -> tuple[Influence, FittedHead, NDArray[np.int64]]:
    """Influence vectors of a head on the pool's embeddings, the head, and the labels."""
    from ..methods.influence.observed_head import observed_vectors

    lam = checks.number("damping", owner, damping, low=0.0, open_low=True)
    labels = np.asarray(pool.labels, dtype=np.int64)
    vectors, head = observed_vectors(pool.observed.embeddings, labels, pool.task, len(pool.classes), lam)
    return vectors, head, labels


def told(certificate: Any, head: FittedHead) -> dict[str, Any]:
    """The part of a subset's certificate about the head."""
    about = {name: certificate[name] for name in TOLD}
    about["corrected"] = about["corrected"] if np.isfinite(about["corrected"]) else None
    return {"removed": certificate["removed"], "head_length": length_of(head), **about, "notes": certificate["notes"]}


def length_of(head: FittedHead) -> float:
    """|theta|."""
    return float(np.linalg.norm(head.theta))


def moves_of(moves: object, owner: str) -> int | None:
    """The number of swaps, checked, if given."""
    return None if moves is None else checks.integer("moves", owner, moves, low=0)
