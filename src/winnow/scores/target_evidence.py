"""How likely each target of a regression is wrong, by how far it is from what was predicted.

With t the residual in units of its usual deviation, the usual tail is that of Student's t with 5 degrees of freedom.
P(wrong) is one minus the false discovery rate at t: how many examples would be as far out in the usual tail, over how
many are. The usual deviation is 1.48 times the median absolute residual, as of a normal distribution, among examples
with about the same prediction: often the large are predicted less exactly than the small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["TargetEvidence", "target_evidence"]

Floats = NDArray[np.float64]

FREEDOM = 5  # degrees, of the usual tail: heavier than a normal one
PART, MOST_PARTS = 50, 20  # examples with about the same prediction at least, and groups of these at most
LEAST = 0.1  # a usual deviation is not below this share of that of all examples


@dataclass(frozen=True, eq=False)
class TargetEvidence:
    """What is known about each target.

    Parameters
    ----------
    probability
        That the target is wrong; of several, that any is.
    expected
        The prediction, moved by the median residual; one column per target.
    far
        How many usual deviations the target is from it; of several, the most.
    """

    probability: Floats
    expected: Floats
    far: Floats


def target_evidence(truth: Floats, predicted: Floats) -> TargetEvidence:
    """Return what is known about each target.

    Parameters
    ----------
    truth
        The given targets, one row per example.
    predicted
        Predictions of the same shape, best by models that were not trained on the example.
    """
    from scipy.stats import t as student

    gaps = truth - predicted
    gaps = gaps - np.median(gaps, axis=0)
    scale = np.stack([_usual(*one) for one in zip(np.abs(gaps).T, predicted.T, strict=True)], axis=1)
    far = (np.abs(gaps) / scale).max(axis=1)
    order = np.argsort(-far, kind="stable")
    expected = truth.size * 2 * student.sf(far[order], FREEDOM)
    rate = np.minimum.accumulate((expected / np.arange(1, far.size + 1))[::-1])[::-1]
    sure = np.empty(far.size)
    sure[order] = 1 - np.minimum(rate, 1.0)
    return TargetEvidence(sure, truth - gaps, far)


def _usual(gaps: Floats, predicted: Floats) -> Floats:
    """The usual size of a residual for each example, by those with about the same prediction."""
    overall = 1.4826 * float(np.median(gaps)) or 1.0
    parts = min(MOST_PARTS, gaps.size // PART)
    if parts < 2:
        return np.full(gaps.size, overall)
    groups = np.array_split(np.argsort(predicted, kind="stable"), parts)
    middles = np.array([np.median(predicted[one]) for one in groups])
    sizes = np.array([1.4826 * np.median(gaps[one]) for one in groups])
    return np.asarray(np.interp(predicted, middles, np.maximum(sizes, LEAST * overall)))
