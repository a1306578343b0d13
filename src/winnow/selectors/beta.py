"""Beta (DUAL): sample by score, around a mean prediction that moves towards easy examples as less is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import drawn_first, uniforms
from ..scores.arithmetic import mean_true_probability, rows_within
from .pool import Choice, Pool
from .row_blocks import Block
from .row_quotas import first_rows
from .row_turn import Chosen, Key, Turn, group_totals

__all__ = ["beta"]

Parameter = float | NDArray[np.float64]  # of a density: one for all, or one per example
EDGE = 1e-6  # mean predictions are kept this far from 0 and 1, where the density may be 0 or infinite
OWNER = "selector 'beta'"
FREE = ("beta", "uniform")
LAST = 1e300  # the key of an example of weight zero


def beta_rows(
    turn: Turn, *, epochs: int | None = 30, power: float = 4.0, anchors: int = 1, uniform: float = 0.0
) -> Chosen:
    """The same over any number of rows."""
    _, least = group_totals(turn)
    exponent, top, share = _settings(least, turn.rows.score_name, power, anchors, uniform)
    turn = replace(turn, rows=turn.rows.within(epochs, OWNER))
    seed, asked = turn.seed, turn.sizes > 0
    tops = first_rows(
        turn, Key(("scores",), lambda block, _: -block["scores"]), np.where(asked, np.minimum(top, turn.counts), 0)
    )
    anchor = _anchors(turn, tops)
    b = np.array([_spread(one, turn.keep, exponent) for one in anchor.tolist()])
    free = np.array([round(share * size) for size in turn.sizes.tolist()], dtype=np.int64)
    uniformly = Key(("ids",), lambda block, _: uniforms(seed, FREE, block["ids"]))
    chosen = first_rows(turn, uniformly, free)
    rest = replace(turn, taken=chosen if turn.taken is None else chosen | turn.taken)

    def weighed(block: Block, group: NDArray[np.int64]) -> NDArray[np.float64]:
        scores, noise = block["scores"], _noise(seed, block["ids"])
        keys = _keys(scores, block["chances"], 16.0 - b[group], b[group], noise)
        return np.where(scores > 0, -keys, LAST)

    key = Key(
        ("scores", "ids", "chances"), weighed, ("ids",), lambda block: -_noise(seed, block["ids"]), span=(-37.0, 4.0)
    )
    chosen |= first_rows(rest, key, turn.sizes - free)
    found = zip(b.tolist(), anchor.tolist(), free.tolist(), strict=True)
    return chosen, [{"a": 16.0 - one, "b": one, "anchor": middle, "uniform": drawn} for one, middle, drawn in found]


def _anchors(turn: Turn, tops: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean of the highest-scored examples' chances, per group; rows are flagged by `tops`."""
    found = []
    for block, group in turn.blocks(("scores", "chances")):
        where = np.flatnonzero(tops[block.place])
        if where.size:
            found.append((group[where], block["scores"][where], block["chances"][where]))
    group, scores, chances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((-scores, group))
    anchor = np.zeros(turn.sizes.size)
    for g in np.unique(group):
        anchor[g] = chances[order[group[order] == g]].mean()
    return anchor


@registry.selector(
    needs={"scores", "probabilities"},
    paper="Cho et al. 2025 (DUAL)",
    default_score="dual",
    tasks=("classification", "multilabel"),
    rows=beta_rows,
)
def beta(
    pool: Pool,
    size: int,
    *,
    seed: int = 0,
    epochs: int | None = 30,
    power: float = 4.0,
    anchors: int = 1,
    uniform: float = 0.0,
) -> Choice:
    """Sample without replacement in proportion to score times a Beta density of the mean prediction.

    weight_i = score_i x Beta(m_i; a, b), a = 16 - b, b = 15 (1 - mu)(1 - r^4): m_i the mean over seeds and
    early epochs of the true class's probability, r the fraction removed, mu the m of the highest-scored example.
    Examples are drawn one after the other, each in proportion to the remaining weights; this is done at once by adding
    Gumbel noise to log weights. Examples of weight zero come last, in random order. With `uniform`, a share of the size
    is first drawn uniformly from all examples, and the rest is sampled from the remaining ones.

    Parameters
    ----------
    pool
        Must have non-negative scores, and `probabilities`.
    size
        How many to keep.
    seed
        Seed of the draw.
    epochs
        Mean predictions are over epochs up to this one; None uses all.
    power
        The power of r.
    anchors
        mu is the mean over this many of the highest-scored examples (the authors' code uses 10).
    uniform
        The share of the size that is drawn uniformly, in [0, 1]: insurance where easy examples matter too.
    """
    scores = pool.difficulty
    exponent, top, share = _settings(float(scores.min()), pool.score_name, power, anchors, uniform)
    mean = mean_true_probability(pool.observed, rows_within(pool.observed, epochs, OWNER))
    anchor = float(mean[np.argsort(-scores, kind="stable")[:top]].mean())
    b = _spread(anchor, pool.keep, exponent)
    free = drawn_first(seed, FREE, pool.ids, round(share * size))
    keys = _keys(scores, mean, 16.0 - b, b, _noise(seed, pool.ids))
    order = np.lexsort((-keys, scores <= 0))
    kept = np.concatenate([free, order[~np.isin(order, free)][: size - free.size]])
    return Choice(kept, certificate={"a": 16.0 - b, "b": b, "anchor": anchor, "uniform": free.size})


def _settings(least: float, name: str | None, power: float, anchors: int, uniform: float) -> tuple[float, int, float]:
    if least < 0:
        raise InputError(
            f"scores of {OWNER} must not be negative, for they are sampling weights; the smallest of {name!r} is "
            f"{least:g} (use 'dual')."
        )
    exponent = checks.number("power", OWNER, power, low=0.0, open_low=True)
    top = checks.integer("anchors", OWNER, anchors, low=1)
    return exponent, top, checks.number("uniform", OWNER, uniform, low=0.0, high=1.0)


def _spread(anchor: float, keep: float, exponent: float) -> float:
    """The b of the density; 0 if the anchor is certain: the density then favours the most certain predictions."""
    return float(max(15.0 * (1.0 - anchor) * (1.0 - (1.0 - keep) ** exponent), EDGE))


def _noise(seed: int, ids: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(-np.log(-np.log(uniforms(seed, "beta", ids))))


def _keys(
    scores: NDArray[np.float64], mean: NDArray[np.float64], a: Parameter, b: Parameter, noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logarithms of the weights plus Gumbel noise, the largest first; noise alone where the weight is zero."""
    possible = scores > 0
    return np.where(possible, np.log(np.where(possible, scores, 1.0)) + log_density(mean, a, b), 0.0) + noise


def log_density(mean: NDArray[np.float64], a: Parameter, b: Parameter) -> NDArray[np.float64]:
    """Logarithm of the Beta density, up to a constant; in logarithms because it spans hundreds of decades."""
    inside = np.clip(mean, EDGE, 1.0 - EDGE)
    return np.asarray((a - 1.0) * np.log(inside) + (b - 1.0) * np.log1p(-inside))
