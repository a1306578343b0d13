"""Random: the baseline for every other selector."""

from __future__ import annotations

from ..core import registry
from ..core.seeds import stream
from .pool import Choice, Pool

__all__ = ["random"]


@registry.selector(needs=(), paper="baseline")
def random(pool: Pool, size: int, *, seed: int = 0) -> Choice:
    """Uniform, without replacement.

    Parameters
    ----------
    pool
        Any.
    size
        How many to keep.
    seed
        Seed of the draw.
    """
    return Choice(stream(seed, "random selection").permutation(pool.n)[:size])
