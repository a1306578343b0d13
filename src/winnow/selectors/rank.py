"""Rank: keep the hardest, the easiest, or a window of the sorted scores."""

from __future__ import annotations

import numpy as np

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import uniforms
from .pool import Choice, Pool

__all__ = ["rank"]


@registry.selector(needs={"scores"}, paper="Sorscher et al. 2022", default_score="el2n")
def rank(pool: Pool, size: int, *, seed: int = 0, policy: str = "hard", skip: float | None = None) -> Choice:
    """Keep the hardest, the easiest, or a window of the sorted scores.

    Parameters
    ----------
    pool
        Must have scores.
    size
        How many to keep.
    seed
        Breaks ties: scores such as forgetting have many, and the order of ids may follow the classes.
    policy
        `hard`, `easy` or `window`.
    skip
        For the window: the fraction of all examples, hardest first, that is skipped before the window starts; None puts
        the window in the middle.
    """
    owner = "selector 'rank'"
    kind = checks.choice("policy", owner, policy, ("hard", "easy", "window"))
    passed = 0
    if kind == "window":
        passed = min(round(_skipped(pool, skip, owner) * pool.n), pool.n - size)
    elif skip is not None:
        raise InputError(f"skip of {owner} belongs to policy='window'; got policy={kind!r}.")
    ties = uniforms(seed, ("rank", "ties"), pool.ids)
    values = pool.difficulty if kind == "easy" else -pool.difficulty
    order = np.lexsort((ties, values))
    return Choice(order[passed : passed + size], certificate={"policy": kind, "skipped": passed})


def _skipped(pool: Pool, skip: float | None, owner: str) -> float:
    room = 1.0 - pool.keep
    if skip is None:
        return room / 2
    wanted = checks.number("skip", owner, skip, low=0.0, high=1.0, open_high=True)
    if wanted > room + 1e-9:
        raise InputError(f"skip of {owner} must be at most the fraction removed ({room:g}); got {wanted:g}.")
    return wanted
