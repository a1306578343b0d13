"""Tilted: random draws that lean towards high scores, and never leave anything out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import uniforms
from .pool import Choice, Pool
from .row_quotas import first_rows
from .row_turn import Chosen, Key, Turn, group_totals

__all__ = ["tilted"]

OWNER = "selector 'tilted'"


def tilted_rows(turn: Turn, *, uniform: float = 0.2) -> Chosen:
    """The same over any number of rows."""
    share = checks.number("uniform", OWNER, uniform, low=0.0, high=1.0, open_low=True)
    totals, least = group_totals(turn)
    _check(least, turn.rows.score_name)
    means = totals / np.maximum(turn.counts, 1)
    key = Key(
        ("scores", "ids"),
        lambda block, group: -_keys(block["scores"], means[group], share, turn.seed, block["ids"]),
    )
    return first_rows(turn, key, turn.sizes), [{"uniform": share} for _ in turn.sizes]


@registry.selector(needs={"scores"}, paper="winnow", default_score="uncertainty", nested=True, rows=tilted_rows)
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
    share = checks.number("uniform", OWNER, uniform, low=0.0, high=1.0, open_low=True)
    scores = pool.difficulty
    _check(float(scores.min()), pool.score_name)
    keys = _keys(scores, np.full(pool.n, scores.mean()), share, seed, pool.ids)
    return Choice(np.argsort(-keys, kind="stable")[:size], certificate={"uniform": share})


def _keys(
    scores: NDArray[np.float64], means: NDArray[np.float64], share: float, seed: int, ids: NDArray[Any]
) -> NDArray[np.float64]:
    """Logarithms of the weights plus Gumbel noise; if the mean is 0, all weights are equal."""
    relative = np.divide(scores, means, out=np.ones(scores.size), where=means > 0)
    weights = share + (1.0 - share) * relative
    return np.asarray(np.log(weights) - np.log(-np.log(uniforms(seed, "tilted", ids))))


def _check(least: float, name: str | None) -> None:
    if least < 0:
        raise InputError(
            f"scores of {OWNER} must not be negative, for they are sampling weights; the smallest of {name!r} is "
            f"{least:g} (use 'uncertainty')."
        )
