"""Rank: keep the hardest, the easiest, or a window of the sorted scores."""

from __future__ import annotations

import numpy as np

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import uniforms
from .pool import Choice, Pool
from .row_quotas import first_rows
from .row_turn import Chosen, Key, Turn

__all__ = ["rank"]

OWNER = "selector 'rank'"
TIES = ("rank", "ties")


def rank_rows(turn: Turn, *, policy: str = "hard", skip: float | None = None) -> Chosen:
    """The same over any number of rows."""
    kind = _policy(policy, skip)
    passed = np.zeros_like(turn.sizes)
    if kind == "window":
        share = _skipped(turn.keep, skip)
        passed[:] = [min(round(share * n), n - size) for n, size in zip(turn.counts, turn.sizes, strict=True)]
    sign = 1.0 if kind == "easy" else -1.0
    key = Key(
        ("scores",),
        lambda block, _: sign * block["scores"],
        ("ids",),
        lambda block: uniforms(turn.seed, TIES, block["ids"]),
    )
    chosen = first_rows(turn, key, passed + turn.sizes)
    if passed.any():
        chosen &= ~first_rows(turn, key, passed)
    return chosen, [{"policy": kind, "skipped": one} for one in passed.tolist()]


@registry.selector(needs={"scores"}, paper="Sorscher et al. 2022", default_score="el2n", nested=True, rows=rank_rows)
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
    kind = _policy(policy, skip)
    passed = min(round(_skipped(pool.keep, skip) * pool.n), pool.n - size) if kind == "window" else 0
    ties = uniforms(seed, TIES, pool.ids)
    values = pool.difficulty if kind == "easy" else -pool.difficulty
    order = np.lexsort((ties, values))
    return Choice(order[passed : passed + size], certificate={"policy": kind, "skipped": passed})


def _policy(policy: str, skip: float | None) -> str:
    kind = checks.choice("policy", OWNER, policy, ("hard", "easy", "window"))
    if kind != "window" and skip is not None:
        raise InputError(f"skip of {OWNER} belongs to policy='window'; got policy={kind!r}.")
    return kind


def _skipped(keep: float, skip: float | None) -> float:
    room = 1.0 - keep
    if skip is None:
        return room / 2
    wanted = checks.number("skip", OWNER, skip, low=0.0, high=1.0, open_high=True)
    if wanted > room + 1e-9:
        raise InputError(f"skip of {OWNER} must be at most the fraction removed ({room:g}); got {wanted:g}.")
    return wanted
