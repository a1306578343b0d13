"""Influence bound: the smallest size that keeps a trained head within a bound, or whether a given size does."""

from __future__ import annotations

import numpy as np

from ..core import checks, registry
from .influence import head_of, length_of, moves_of, told
from .pool import Choice, Pool

__all__ = ["influence_bound"]


@registry.selector(
    needs={"embeddings"},
    paper="Yang et al. 2023 (Dataset Pruning, Eq. 3)",
    tasks=("classification",),
    size_from="epsilon",
    cost=registry.Cost("n", memory=9),
)
def influence_bound(
    pool: Pool,
    size: int | None,
    *,
    seed: int = 0,
    epsilon: float = 0.05,
    damping: float = 0.01,
    stratify: bool = True,
    moves: int | None = None,
) -> Choice:
    """Keep as few as a bound on the change of a head allows, or a given size, and say whether the bound holds there.

    The head is that of the selector `influence`. `influence.prune_by_bound` removes up to n - size examples while the
    retrained head is predicted to change by at most epsilon |theta|. If it reaches n - size, that set is the result,
    and the certificate says that the bound holds. Otherwise the result is that of `influence` at the given size; the
    certificate then says that the bound does not hold, and the smallest size found at which it does (`smallest_size`).
    Without a size, the smallest set found within the bound is the result, as Eq. 3 of the paper asks for.
    The bound is about the head on fixed embeddings, not about a network retrained from scratch.

    Parameters
    ----------
    pool
        Must have embeddings and class labels.
    size
        How many to keep; None for as few as the bound allows.
    seed
        Seed of the solver.
    epsilon
        The largest change allowed, as a share of the head's length; above 0.
    damping, stratify
        As in `influence`.
    moves
        As in `influence`, per size tried.
    """
    from ..methods.influence import prune_by_bound, prune_by_count

    owner = "selector 'influence_bound'"
    share = checks.number("epsilon", owner, epsilon, low=0.0, open_low=True)
    tries = moves_of(moves, owner)
    vectors, head, labels = head_of(pool, damping, owner)
    length = length_of(head)
    if size == pool.n:
        return Choice(np.arange(size), certificate={"removed": 0, "holds": True, "smallest_size": size})
    groups, most = labels if stratify else None, pool.n - (1 if size is None else size)
    bound = max(share * length, np.finfo(np.float64).tiny)  # a head of length 0 allows nothing
    found = prune_by_bound(vectors, bound, most, seed, groups=groups, moves=tries, ids=pool.ids)
    holds = size is None or found.removed.size == most
    about = {"holds": holds, "epsilon": share, "bound": share * length, "smallest_size": pool.n - found.removed.size}
    if not holds:
        found = prune_by_count(vectors, most, seed, groups=groups, moves=tries, ids=pool.ids)
    kept = np.setdiff1d(np.arange(pool.n), found.removed)
    return Choice(kept, certificate={**told(found.certificate, head), **about})
