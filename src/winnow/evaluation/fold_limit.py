"""An upper limit of what a way of choosing subsets loses, measured by rotating folds.

Fold k of K has n_k of the N examples. Reference and subset are trained without it, R times each, and v_i is what
example i of the fold loses, mean over the R pairs. Each fold has a subset, seeds and examples of its own, so

    F_k = mean of v_i over the fold,    D = mean of v_i over all examples = sum of w_k F_k,   w_k = n_k / N,

and the variance of F_k has two parts: that of a fold's n_k examples, and A, the luck of its trainings and its subset.
W, the variance of v_i within folds, pooled, shows the first part, and what the F_k vary more than that shows the
second:

    A = ( mean over this size and up to two before it of [ var(F_k) - c W mean(1 / n_k) ] )+,    c = (K - 2) / (K - 1).

The limit is that of `loss_limit`, with folds in the place of seeds:

    U = D + sqrt( t^2 A sum of w_k^2 + z^2 (W + E) / N ),

t with K - 1 degrees of freedom and E for few lost examples. Five folds alone tell little about A: at one size it is
often far too large, which ends a search, or too small. So the sizes before, which are hardly larger, are averaged in.
Sizes share folds and reference and are not independent: t keeps the degrees of freedom of one. With losses just at the
tolerance, normal parts in any proportion, sizes that share none or most of their luck, and luck that grows by up to 1.3
times per size, a limit at 95 % was too low in 3 to 5.5 of 100 (`studies/winning/fold_limit_check.py`).

For a metric that is a mean over classes, marks are computed within each fold (areas and F1 compare examples of one
network) and rewritten together, so that D is the mean over classes of the class means of all examples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..artefacts.class_metrics import by_class
from ..artefacts.intervals import added_to
from .loss_limit import PairedLoss

__all__ = ["NEIGHBOURS", "FoldLoss", "joint_levels"]

NEIGHBOURS = 2  # larger sizes whose spread between folds is averaged in
SPENDING = 3  # power of the share of the trainings up to which error is spent at a look
Marks = NDArray[np.float64]


@dataclass(frozen=True)
class FoldLoss:
    """The loss over folds, and how much folds differ beyond their examples.

    Parameters
    ----------
    paired
        D, K, N, W and the shares lost and gained, with a variance between folds of zero.
    spread
        var(F_k) - c W mean(1 / n_k), of this size alone; it may be negative.
    weight
        K times the sum of w_k^2; 1 if folds are equally large.
    """

    paired: PairedLoss
    spread: float
    weight: float

    @classmethod
    def of(
        cls,
        differences: Sequence[Marks],
        *,
        binary: bool,
        classes: Sequence[NDArray[np.integer]] | None = None,
        area: bool = False,
    ) -> FoldLoss:
        """Return the loss of differences given per fold as trainings x examples, as many trainings in each.

        Parameters
        ----------
        differences
            What each example of a fold loses in each pair of trainings.
        binary
            Whether examples are right or wrong, so that differences are -1, 0 or 1.
        classes
            The classes of the examples, per fold, if the metric is a mean over classes.
        area
            Whether that metric is an area under a curve.
        """
        sizes = np.array([part.shape[1] for part in differences])
        count, total = sizes.size, int(sizes.sum())
        together, extra = np.concatenate(differences, axis=1), 0.0
        if classes is not None:
            added = added_to(together, "area differences" if area else "differences")
            (together, extra), binary = by_class(together, np.concatenate(classes), added), False
        lost = float((together > 0).mean()) if binary else None
        gained = float((together < 0).mean()) if binary else None
        folds = np.split(together.mean(0), np.cumsum(sizes)[:-1])
        means = np.array([fold.mean() for fold in folds])
        within = sum(float(np.square(fold - fold.mean()).sum()) for fold in folds) / (total - count)
        taken = (count - 2) / (count - 1) * within * float((1 / sizes).mean())
        paired = PairedLoss(
            float(sizes @ means) / total, count, total, 0.0, within + extra, 0.0, lost=lost, gained=gained
        )
        return cls(paired, float(means.var(ddof=1)) - taken, count * float(np.square(sizes / total).sum()))

    def with_spread(self, earlier: Sequence[float]) -> PairedLoss:
        """Return the loss to take the limit of, with the spreads of the sizes before averaged in."""
        pooled = max(0.0, float(np.mean([self.spread, *earlier[-NEIGHBOURS:]])))
        p = self.paired
        return PairedLoss(
            p.loss, p.seeds, p.examples, pooled * self.weight, p.example_variance, 0.0, lost=p.lost, gained=p.gained
        )


@lru_cache(maxsize=64)
def joint_levels(first: int, last: int, confidence: float) -> tuple[float, ...]:
    """Return the confidence of the limits at a first and a last look, so that both together have the one wanted.

    With S_1 < S_2 trainings, (1 - confidence) (S_1 / S_2)^3 is spent at the first look, and the last gets what then
    leaves P(pass at either) = 1 - confidence for normal means with correlation sqrt(S_1 / S_2). That is their
    correlation if all luck is that of trainings. Examples and subsets are the same at both looks, which only raises it,
    and more correlated looks pass less often (Slepian's inequality).

    >>> [round(level, 4) for level in joint_levels(5, 10, 0.95)]
    [0.9937, 0.9521]
    """
    if first >= last:
        return (confidence,)
    from scipy import integrate, optimize, stats

    allowed, share = 1 - confidence, first / last
    early = 1 - allowed * share**SPENDING
    bound, left = float(stats.norm.ppf(early)), math.sqrt(1 - share)

    def missed(late: float) -> float:
        """How far P(no pass at either look) is from the confidence."""
        inside, _ = integrate.quad(
            lambda x: stats.norm.pdf(x) * stats.norm.cdf((late - math.sqrt(share) * x) / left), -9, bound
        )
        return float(inside - confidence)

    late = optimize.brentq(missed, float(stats.norm.ppf(confidence)) - 0.01, 6.0)
    return early, float(stats.norm.cdf(late))
