"""Subset ensembles: which models saw an example, and which got it right.

Each block of ten models splits the examples at random into ten folds; model j leaves out folds j, j + 1 and
j + 2. Every model so trains on a random 70 %, and every example is left out by exactly three models of each
block, which independent draws would not guarantee (3 % of examples would be in all ten).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import checks
from ..core.errors import InputError
from ..core.seeds import stream

__all__ = ["BLOCK", "memberships"]

BLOCK = 10
LEFT_OUT = 3


def memberships(n: int, models: int, seed: int) -> NDArray[np.uint8]:
    """Which examples each model trains on: models x n, 1 for in, in canonical order."""
    checks.integer("models", "the ensemble", models, low=BLOCK)
    if models % BLOCK:
        raise InputError(
            f"models of the ensemble must be a multiple of {BLOCK}, so that every example is left out "
            f"equally often; got {models}."
        )
    checks.integer("number of examples", "the ensemble", n, low=BLOCK)
    member = np.ones((models, n), dtype=np.uint8)
    for block in range(models // BLOCK):
        fold = stream(seed, "ensemble", block).permutation(n) % BLOCK
        for j in range(BLOCK):
            member[block * BLOCK + j] = ~np.isin(fold, [(j + k) % BLOCK for k in range(LEFT_OUT)])
    return member
