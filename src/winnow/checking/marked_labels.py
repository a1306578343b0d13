"""What a person's marks say of the labels that nobody has marked.

Probabilities of labels being wrong may be off as a whole: people's errors are taken for hard examples, and then the
share of wrong labels is too low. A few dozen marks show that. With z the log odds before the marks, a label is taken
to be wrong with probability

    u + (1 - u) sigmoid(a z + d).

d moves all odds, a makes them steeper or flatter, and u is a share of errors that no evidence shows. Before the marks
d is normal around 0, log a is normal around 0, and u is most likely small, but may be large. All hypotheses of a grid
are weighed by how likely they make the marks; the mean over them gives the probabilities. Their spread, and the chance
in how many of the labels with such probabilities are wrong, give the interval of the share.

Which examples were marked may depend on z in any way: to mark the surest first is fine. But only a sample from all
(`Issues.to_mark`) shows errors that look right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..scores.wrong_share import sigmoid

__all__ = ["FEWEST", "MarkedLabels", "marked_labels"]

Floats = NDArray[np.float64]

FEWEST = 5  # verdicts from which on the others are estimated anew
MOVED, STEEPER = 1.0, 0.5  # standard deviations of d and of log a
UNSEEN = 0.005  # u is less than this with probability a half: its density is proportional to (UNSEEN + u)^-2
LARGEST_ODDS = 10.0  # surer than this counts as this
KNOTS = 400  # places of z at which the share is counted


@dataclass(frozen=True, eq=False)
class MarkedLabels:
    """Probabilities with a person's verdicts.

    Parameters
    ----------
    probability
        That each label is wrong: 0 or 1 where a person said so.
    bounds
        Between which the share of wrong labels is with 95 % probability; None if there are too few verdicts to say.
    """

    probability: Floats
    bounds: tuple[float, float] | None


def marked_labels(probability: Floats, verdicts: NDArray[np.generic]) -> MarkedLabels:
    """Return the probabilities with a person's verdicts; the others follow if there are at least `FEWEST`.

    Parameters
    ----------
    probability
        That each label is wrong, before the marks.
    verdicts
        `confirmed` if it is wrong, `refused` if it is right, nothing if not marked.
    """
    marked, confirmed = verdicts != "", verdicts == "confirmed"
    found, bounds = probability.copy(), None
    if marked.sum() >= FEWEST and not marked.all():
        found, bounds = _from_marks(probability, marked, confirmed)
    elif marked.all():
        bounds = (float(confirmed.mean()),) * 2
    found[confirmed], found[marked & ~confirmed] = 1.0, 0.0
    return MarkedLabels(found, bounds)


def _from_marks(
    probability: Floats, marked: NDArray[np.bool_], confirmed: NDArray[np.bool_]
) -> tuple[Floats, tuple[float, float]]:
    """Probabilities of all labels as if none was marked, and the bounds of the share."""
    inside = np.clip(probability, 1e-9, 1 - 1e-9)
    odds = np.clip(np.log(inside) - np.log1p(-inside), -LARGEST_ODDS, LARGEST_ODDS)
    steep, moved, unseen, weight = _hypotheses()
    for at in range(unseen.size):  # one share of unseen errors at a time, so that many marks need little memory
        weight[at] += _log_likelihood(steep, moved, unseen[at], odds[marked], confirmed[marked])
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    knots = np.quantile(odds[~marked], (np.arange(KNOTS) + 0.5) / KNOTS)
    plain = sigmoid(steep[:, None] * knots + moved[:, None])
    likely, shares = np.zeros(KNOTS), np.empty(weight.shape)
    for at, share in enumerate(unseen):
        likely += weight[at] @ (share + (1 - share) * plain)
        shares[at] = share + (1 - share) * plain.mean(axis=1)
    open_part, known = float((~marked).mean()), float(confirmed.mean())
    low, high = _quantiles(known + open_part * shares.ravel(), weight.ravel())
    centre = known + open_part * float(likely.mean())
    chance = 1.96 * np.sqrt(open_part * float((likely * (1 - likely)).mean()) / odds.size)
    low, high = centre - float(np.hypot(centre - low, chance)), centre + float(np.hypot(high - centre, chance))
    low, high = max(low, known), min(high, known + open_part)
    places, first = np.unique(knots, return_index=True)
    return np.interp(odds, places, likely[first]), (low, high)


def _hypotheses() -> tuple[Floats, Floats, Floats, Floats]:
    """All pairs of a and d, all u, and the logarithm of the weight of each u (row) with each pair before the marks."""
    from scipy.special import ndtri

    steep = np.exp(STEEPER * ndtri((np.arange(9) + 0.5) / 9))
    moved = MOVED * ndtri((np.arange(33) + 0.5) / 33)
    unseen = np.geomspace(0.0005, 0.5, 49)
    before = np.log(unseen) - 2 * np.log(UNSEEN + unseen)  # places on a logarithmic scale, hence the first term
    pairs = np.meshgrid(steep, moved, indexing="ij")
    return pairs[0].ravel(), pairs[1].ravel(), unseen, np.repeat(before[:, None], pairs[0].size, axis=1)


def _log_likelihood(steep: Floats, moved: Floats, unseen: float, odds: Floats, confirmed: NDArray[np.bool_]) -> Floats:
    """How likely each pair of a and d makes the marks."""
    chances = unseen + (1 - unseen) * sigmoid(steep[:, None] * odds + moved[:, None])
    chances = np.clip(chances, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(chances[:, confirmed]).sum(axis=1) + np.log1p(-chances[:, ~confirmed]).sum(axis=1))


def _quantiles(values: Floats, weight: Floats) -> tuple[float, float]:
    """Where 2.5 % and 97.5 % of the weight are below."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    low, high = np.minimum(np.searchsorted(below, (0.025, 0.975)), values.size - 1)
    return float(values[order[low]]), float(values[order[high]])
