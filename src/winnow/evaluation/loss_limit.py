"""An upper limit of what a subset loses, from models trained in pairs and measured on the same examples.

With q_si the quality of the model of seed s on example i (right or wrong; for regression see `retrain`) and
d_si = q_si(reference) - q_si(subset), for S seeds and n examples, the loss is D, the mean of all d_si. Seeds and
examples are both drawn at random, and crossed, so

    var D = var_seed / S + var_example / n + var_rest / (S n).

The variance B_s of the S means over examples estimates var_seed + var_rest / n, with S - 1 degrees of freedom; the
variance B_e of the n means over seeds estimates var_example + var_rest / S; R, what is left after taking both means
away, estimates var_rest. The limit is

    U = D + sqrt( t^2 B_s / S + z^2 (B_e - R / S + E) / n ),

with t and z the one-sided quantiles of Student's distribution (S - 1 degrees of freedom) and of the normal one: the few
seeds are paid for with t, the many examples with z.

E corrects for few lost examples, where the variance is itself underestimated if the loss is: 0 lost of 300 does not
mean a variance of 0. As in the score test for paired proportions (Tango 1998), the variance is taken as it would be if
the loss were just U: with a and c the shares lost and gained, pooled over seeds, q the most likely share gained given
that the share lost is q + U, and rho the part of the variance that all seeds have in common,

    E = rho max(0, 2 q + U - U^2 - (a + c - (a - c)^2)),    rho = (B_e + 1/n) / (a + c - (a - c)^2 + 1/n).

U is then on both sides, and found by iteration from above. E vanishes if many are lost and gained. For regression
E = 0.

A metric that is a mean over classes (`class_metrics`) is limited in the same way, from marks rewritten so that their
mean is the metric. There one example gained and one lost are added to each class instead of E.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..artefacts.class_metrics import by_class
from ..artefacts.intervals import added_to

__all__ = ["PairedLoss"]

ROUNDS = 60  # each at least halves what is missing


@dataclass(frozen=True)
class PairedLoss:
    """The loss of a subset and what its limit is made of.

    Parameters
    ----------
    loss
        D.
    seeds, examples
        S and n.
    seed_variance, example_variance, rest_variance
        B_s, B_e and R.
    lost, gained
        a and c; None for regression.
    """

    loss: float
    seeds: int
    examples: int
    seed_variance: float
    example_variance: float
    rest_variance: float
    lost: float | None = None
    gained: float | None = None

    @classmethod
    def of(
        cls,
        differences: NDArray[np.float64],
        *,
        binary: bool,
        classes: NDArray[np.integer] | None = None,
        area: bool = False,
    ) -> Self:
        """Return the loss of differences given as seeds x examples.

        Parameters
        ----------
        differences
            What each example loses under each seed; at least 2 x 2.
        binary
            Whether examples are right or wrong, so that differences are -1, 0 or 1.
        classes
            The classes of the examples, if the metric is a mean over classes.
        area
            Whether that metric is an area under a curve.
        """
        extra = 0.0
        if classes is not None:
            added = added_to(differences, "area differences" if area else "differences")
            (differences, extra), binary = by_class(differences, classes, added), False
        seeds, examples = differences.shape
        by_seed, by_example, centre = differences.mean(1), differences.mean(0), differences.mean()
        rest = np.square(differences - by_seed[:, None] - by_example + centre).sum() / ((seeds - 1) * (examples - 1))
        return cls(
            float(centre),
            seeds,
            examples,
            float(by_seed.var(ddof=1)),
            float(by_example.var(ddof=1)) + extra,
            float(rest),
            float((differences > 0).mean()) if binary else None,
            float((differences < 0).mean()) if binary else None,
        )

    def upper(self, confidence: float, seeds: int | None = None) -> float:
        """Return U, at most 1 for right and wrong.

        Parameters
        ----------
        confidence
            Confidence of this one limit.
        seeds
            If given, forecast U for that many seeds, should loss and variances stay as they are.
        """
        from scipy import stats

        count = self.seeds if seeds is None else seeds
        by_seed = stats.t.ppf(confidence, count - 1) ** 2 * self.seed_variance / count
        shared = max(0.0, self.example_variance - self.rest_variance / self.seeds)
        z = stats.norm.ppf(confidence)

        def limit(at: float) -> float:
            return self.loss + math.sqrt(by_seed + z**2 * (shared + self._few(at)) / self.examples)

        if self.lost is None:
            return limit(self.loss)
        found = max(0.5, self.loss)  # from above: with no example lost, a limit of zero would confirm itself
        for _ in range(ROUNDS):
            found = min(1.0, limit(found))
        return found

    def _few(self, at: float) -> float:
        """E, if the loss were `at`."""
        if self.lost is None or self.gained is None:
            return 0.0
        lost, gained, loss = self.lost, self.gained, max(0.0, at)
        seen = lost + gained - (lost - gained) ** 2
        b = lost + gained + loss * (lost - gained - 2)
        likely = (b + math.sqrt(b**2 + 8 * gained * loss * (1 - loss))) / 4
        share = (self.example_variance + 1 / self.examples) / (seen + 1 / self.examples)
        return share * max(0.0, 2 * likely + loss - loss**2 - seen)
