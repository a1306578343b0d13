"""Metrics of several labels per example: mean average precision and F1, each with what every test example adds to it.

**Average precision** of a label is the mean, over the test examples that have it, of the precision among all that the
network ranks at least as high. Mean average precision is its mean over the labels that some test examples have and
others do not. **F1** compares the labels above a probability of one half with the given ones: 2 TP / (2 TP + FP + FN),
of all labels together (micro), or the mean over the same labels as above (macro).

Neither is a mean over test examples, so intervals need what one example is worth. With w_i the weight of example i and
T(w) the metric, which does not change if all weights are multiplied by a number, the infinitesimal jackknife (Jaeckel
1972) gives

    q_i = T + n dT/dw_i,    at w = 1.

The mean of q_i is exactly T, since sum_i w_i dT/dw_i = 0, and the variance of the mean of q_i is, for many examples,
the variance of T over test sets, as a bootstrap would find it. The difference of two networks has the differences of
their q_i. So what `artefacts.intervals` does for right and wrong examples holds for these metrics too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["average_precision", "mean_average_precision", "micro_macro_f1"]

Floats = NDArray[np.float64]


def average_precision(scores: Floats, truth: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Average precision of one label, and the q_i of this module.

    Parameters
    ----------
    scores
        One number per example; equal ones share a rank.
    truth
        Which examples have the label; some and not all.

    Examples
    --------
    >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))[0]
    0.8333333333333333
    """
    n, positives = scores.size, int(truth.sum())
    order = np.argsort(-scores, kind="stable")
    ranked, hit = scores[order], truth[order].astype(np.float64)
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    group = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], n)  # examples ranked at least as high as each group
    above, right = ends[group].astype(np.float64), np.cumsum(hit)[ends - 1][group]
    precision = right / above
    value = float((hit * precision).sum() / positives)
    # what one more example would change in the precision of all positives ranked no higher than itself
    gained, diluted = (_no_higher(hit * part, starts[group]) for part in (1 / above, right / above**2))
    slopes = (hit * (precision - value) + hit * gained - diluted) / positives
    found = np.empty(n)
    found[order] = value + n * slopes
    return value, found


def _no_higher(values: Floats, start: NDArray[np.int64]) -> Floats:
    """Sums over all ranks from the start of each one's group on."""
    return np.asarray(np.cumsum(values[::-1])[::-1][start])


def mean_average_precision(scores: Floats, truth: NDArray[np.bool_]) -> tuple[float, tuple[float, ...], Floats]:
    """Mean average precision, that of each label (NaN where it has no meaning), and the q_i.

    Parameters
    ----------
    scores, truth
        One row per example, one column per label.
    """
    each = np.full(truth.shape[1], math.nan)
    total = np.zeros(len(truth))
    told = _told(truth)
    for label in told:
        each[label], parts = average_precision(scores[:, label], truth[:, label])
        total += parts
    return float(each[told].mean()), tuple(each.tolist()), total / told.size


def micro_macro_f1(scores: Floats, truth: NDArray[np.bool_]) -> tuple[tuple[float, Floats], tuple[float, Floats]]:
    """Micro and macro F1 of the labels whose score (a logit) is above 0, each with its q_i."""
    said = scores > 0
    both = 2.0 * (said & truth).astype(np.float64)
    either = said.astype(np.float64) + truth.astype(np.float64)
    micro = _ratio(both.sum(axis=1), either.sum(axis=1))
    parts = [_ratio(both[:, label], either[:, label]) for label in _told(truth)]
    macro = float(np.mean([value for value, _ in parts])), np.mean([marks for _, marks in parts], axis=0)
    return micro, macro


def _ratio(above: Floats, below: Floats) -> tuple[float, Floats]:
    """A ratio of two sums over examples, with its q_i; 0 if nothing was given or said."""
    total = float(below.sum())
    if total == 0:
        return 0.0, np.zeros(above.size)
    value = float(above.sum()) / total
    return value, np.asarray(value + above.size * (above - value * below) / total)


def _told(truth: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The labels that some examples have and others do not."""
    counts = truth.sum(axis=0)
    return np.flatnonzero((counts > 0) & (counts < len(truth)))
