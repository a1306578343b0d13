"""Random: the baseline for every other selector."""

from __future__ import annotations

from ..core import registry
from ..core.seeds import drawn_first
from .pool import Choice, Pool

__all__ = ["random"]


@registry.selector(needs=(), paper="baseline")
def random(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Uniform, without replacement.

    Each example has a random number that depends only on the seed and its id, and the smallest are kept: a smaller
    subset is part of a larger one, and examples added to the source replace only as many as they have to.

    Parameters
    ----------
    pool
        Any.
    size
        How many to keep.
    seed
        Seed of the draw.
    """
    return Choice(drawn_first(seed, "random selection", pool.ids, size))
