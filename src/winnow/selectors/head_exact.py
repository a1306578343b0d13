"""Head exact: a few weighted examples on which a head trains to the head of all."""

from __future__ import annotations

import numpy as np

from ..artefacts.quotas import in_proportion
from ..core import checks, registry
from .pool import Choice, Pool

__all__ = ["head_exact"]


@registry.selector(
    needs={"embeddings"},
    paper="winnow: moment matching (Wang et al. 2025) of influence vectors (Yang et al. 2023)",
    tasks=("classification", "regression"),
    by_group=True,
    cost=registry.Cost("n", memory=18),
)
def head_exact(
    pool: Pool,
    size: int,
    *,
    seed: int = 0,
    damping: float = 0.01,
    largest: float | None = None,
    dampings: tuple[float, ...] = (),
    heads: int = 0,
    moves: int | None = None,
) -> Choice:
    """Keep a few examples, weighted so that a head on the embeddings trains to exactly the head of all.

    A head is trained on the scaled embeddings and a column of ones, by mean L + damping / 2 |theta|^2. The weights make
    the gradients of the kept examples sum to those of all at that head, which is then the optimum of both. That takes
    about as many examples as the head has parameters, (features + 1) x (classes - 1) + classes; below that the weights
    are those that change the loss least, and `exact` in the certificate is False. Each class keeps its total weight.
    The certificate has the change that training on the kept examples really makes (`verified`). It is about the head
    on these embeddings with this damping.

    Parameters
    ----------
    pool
        Must have embeddings and labels.
    size
        How many to keep.
    seed
        Seed of the choice of the examples.
    damping
        The regulariser of the head, above 0.
    largest
        The largest weight, relative to the mean weight. None takes what is certain to be reached, and at least 2.
    dampings
        Other regularisers at which the head should be that of all, too; each needs as many examples as the first.
    heads
        How many bootstrapped heads to match too, so that less depends on how the head is trained.
    moves
        The number of swaps to try; None uses the calibrated number.
    """
    from ..methods.influence.head_conditions import Asked
    from ..methods.influence.head_coreset import coreset_of
    from ..methods.influence.observed_head import head_features, observed_head

    owner = "selector 'head_exact'"
    lam = checks.number("damping", owner, damping, low=0.0, open_low=True)
    asked = Asked.of(owner, dampings, heads, largest, seed, moves)
    labels = np.asarray(pool.labels)
    head, found = observed_head(head_features(pool.observed.embeddings), labels, pool.task, len(pool.classes), lam)
    group = np.zeros(pool.n, dtype=np.int64)
    if pool.shares is not None:
        for number, (_, where, _) in enumerate(pool.shares):
            group[where] = number
        counts = np.array([count for _, _, count in pool.shares])
    else:
        if pool.task == "classification":
            group = labels.astype(np.int64)
        counts = in_proportion(np.bincount(group), size)
    made = coreset_of(head, found.theta, group, counts, asked, pool.ids, fixed=pool.shares is not None)
    return Choice(made.positions, made.weights, made.certificate)
