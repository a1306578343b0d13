"""Beta (DUAL): sample by score, around a mean prediction that moves towards easy examples as less is kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import checks, registry
from ..core.errors import InputError
from ..core.seeds import drawn_first, uniforms
from ..scores.arithmetic import mean_true_probability, rows_within
from .pool import Choice, Pool

__all__ = ["beta"]

EDGE = 1e-6  # mean predictions are kept this far from 0 and 1, where the density may be 0 or infinite


@registry.selector(
    needs={"scores", "probabilities"},
    paper="Cho et al. 2025 (DUAL)",
    default_score="dual",
    tasks=("classification", "multilabel"),
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
    owner = "selector 'beta'"
    scores = pool.difficulty
    if scores.min() < 0:
        raise InputError(
            f"scores of {owner} must not be negative, for they are sampling weights; the smallest of "
            f"{pool.score_name!r} is {scores.min():g} (use 'dual')."
        )
    exponent = checks.number("power", owner, power, low=0.0, open_low=True)
    top = min(checks.integer("anchors", owner, anchors, low=1), pool.n)
    share = checks.number("uniform", owner, uniform, low=0.0, high=1.0)
    mean = mean_true_probability(pool.observed, rows_within(pool.observed, epochs, owner))
    anchor = float(mean[np.argsort(-scores, kind="stable")[:top]].mean())
    b = 15.0 * (1.0 - anchor) * (1.0 - (1.0 - pool.keep) ** exponent)
    b = max(b, EDGE)  # 0 if the anchor is certain: the density then favours the most certain predictions
    free = drawn_first(seed, ("beta", "uniform"), pool.ids, round(share * size))
    noise = -np.log(-np.log(uniforms(seed, "beta", pool.ids)))
    possible = scores > 0
    keys = np.where(possible, np.log(np.where(possible, scores, 1.0)) + log_density(mean, 16.0 - b, b), 0.0) + noise
    order = np.lexsort((-keys, ~possible))
    kept = np.concatenate([free, order[~np.isin(order, free)][: size - free.size]])
    return Choice(kept, certificate={"a": 16.0 - b, "b": b, "anchor": anchor, "uniform": free.size})


def log_density(mean: NDArray[np.float64], a: float, b: float) -> NDArray[np.float64]:
    """Logarithm of the Beta density, up to a constant; in logarithms because it spans hundreds of decades."""
    inside = np.clip(mean, EDGE, 1.0 - EDGE)
    return np.asarray((a - 1.0) * np.log(inside) + (b - 1.0) * np.log1p(-inside))
