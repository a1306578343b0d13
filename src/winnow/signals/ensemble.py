"""Subset ensembles: which models were trained on an example, and which classify it correctly.

Each block of ten models splits the examples at random into ten folds; model j leaves out folds j, j + 1 and j + 2. So
every model trains on a random 70 %, and every example is left out by exactly three models of each block. Independent
draws would not guarantee that: 3 % of the examples would be in all ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import drawn_first
from ..training import predict

if TYPE_CHECKING:
    from .observation import Look

__all__ = ["BLOCK", "ensemble", "memberships"]

BLOCK = 10
LEFT_OUT = 3
LAYOUT = registry.ArrayLayout(("models", "examples"), "uint8")


def _made_up(
    sizes: Mapping[str, int],
    _labels: NDArray[np.int64],
    hardness: NDArray[np.float64],
    rng: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """Make up memberships and outcomes; hard examples are right mostly in models trained on them."""
    member = memberships(np.arange(sizes["examples"]), BLOCK, 0)
    right = rng.random(member.shape) < np.where(member, 0.99, 1 - 0.9 * hardness)
    return {"ensemble_member": member, "ensemble_correct": right}


@registry.signal(
    arrays={"ensemble_member": LAYOUT, "ensemble_correct": LAYOUT},
    when="ensemble",
    tasks=("classification",),
    paper="Feldman and Zhang 2020",
    make_up=_made_up,
)
def ensemble(look: Look) -> dict[str, NDArray[Any]]:
    """Which models of a subset ensemble were trained on each example, and which classify it correctly."""
    labels = np.asarray(look.feed.source.labels)[look.feed.order]
    right = predict(look.model, look.feed, look.what.recipe).argmax(1) == labels
    return {"ensemble_member": np.asarray(look.member), "ensemble_correct": right.astype(np.uint8)}


def memberships(ids: NDArray[Any], models: int, seed: int) -> NDArray[np.uint8]:
    """Return which examples each model trains on: models x examples, 1 if it does; by id, in any order of the ids.

    A fold is a tenth of the examples in the order of their random numbers, so a new example moves at most one other
    example across each border.
    """
    checks.integer("models", "the ensemble", models, low=BLOCK)
    if models % BLOCK:
        raise InputError(
            f"models of the ensemble must be a multiple of {BLOCK}, so that every example is left out "
            f"equally often; got {models}."
        )
    n = checks.integer("number of examples", "the ensemble", len(ids), low=BLOCK)
    member = np.ones((models, n), dtype=np.uint8)
    for block in range(models // BLOCK):
        fold = np.empty(n, dtype=np.int64)
        fold[drawn_first(seed, ("ensemble", block), ids)] = np.arange(n) * BLOCK // n
        for j in range(BLOCK):
            member[block * BLOCK + j] = ~np.isin(fold, [(j + k) % BLOCK for k in range(LEFT_OUT)])
    return member
