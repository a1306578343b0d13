"""Tilted: random draws that lean towards high scores, and never leave anything out."""

from __future__ import annotations

import numpy as np

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import uniforms
from .pool import Choice, Pool

__all__ = ["tilted"]


@registry.selector(needs={"scores"}, paper="winnow", default_score="uncertainty")
def tilted(pool: Pool, size: int, *, seed: int = 0, uniform: float = 0.2) -> Choice:
    """Sample without replacement in proportion to u + (1 - u) score / mean score.

    Each example keeps at least u times the chance it has in a random subset, so that easy examples, which hold the
    boundary in place, stay; the rest of the chance follows the score. Examples are drawn one after the other, each in
    proportion to the remaining weights; this is done at once by adding Gumbel noise to log weights.

    Parameters
    ----------
    pool
        Must have non-negative scores.
    size
        How many to keep.
    seed
        Seed of the draw.
    uniform
        The share u that is uniform, in (0, 1]; 1 is a random subset.
    """
    owner = "selector 'tilted'"
    share = checks.number("uniform", owner, uniform, low=0.0, high=1.0, open_low=True)
    scores = pool.difficulty
    if scores.min() < 0:
        raise InputError(
            f"scores of {owner} must not be negative, for they are sampling weights; the smallest of "
            f"{pool.score_name!r} is {scores.min():g} (use 'uncertainty')."
        )
    mean = float(scores.mean())
    weights = share + (1.0 - share) * (scores / mean if mean > 0 else np.ones(pool.n))
    keys = np.log(weights) - np.log(-np.log(uniforms(seed, "tilted", pool.ids)))
    return Choice(np.argsort(-keys, kind="stable")[:size], certificate={"uniform": share})
