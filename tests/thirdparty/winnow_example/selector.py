"""Spaced: examples at equal steps along the order of difficulty."""

from __future__ import annotations

import numpy as np

from winnow.core import registry
from winnow.core.seeds import uniforms
from winnow.selectors.pool import Choice, Pool

__all__ = ["spaced"]


@registry.selector(needs={"scores"}, paper="an example", default_score="unsteadiness")
def spaced(pool: Pool, size: int, *, seed: int = 0, shift: float = 0.5) -> Choice:
    """Keep examples at equal steps along the order of difficulty.

    Parameters
    ----------
    pool
        With scores.
    size
        How many to keep.
    seed
        Breaks ties.
    shift
        Where in its step each example lies, in [0, 1).
    """
    ties = uniforms(seed, ("spaced", "ties"), pool.ids)
    order = np.lexsort((ties, pool.difficulty))
    steps = ((np.arange(size) + shift) * pool.n / size).astype(np.int64)
    return Choice(order[steps], certificate={"step": pool.n / size})
