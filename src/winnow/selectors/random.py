"""Random: the baseline for every other selector."""

from __future__ import annotations

from ..core import registry
from ..core.seeds import drawn_first, uniforms
from .pool import Choice, Pool
from .row_quotas import first_rows
from .row_turn import Chosen, Key, Turn

__all__ = ["random"]

STREAM = "random selection"


def random_rows(turn: Turn) -> Chosen:
    """The same over any number of rows."""
    key = Key(("ids",), lambda block, _: uniforms(turn.seed, STREAM, block["ids"]))
    return first_rows(turn, key, turn.sizes), [{} for _ in turn.sizes]


@registry.selector(needs=(), paper="baseline", nested=True, rows=random_rows)
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
    return Choice(drawn_first(seed, STREAM, pool.ids, size))
