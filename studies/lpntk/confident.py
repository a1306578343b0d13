"""Confident learning (Northcutt et al. 2021), as the cleanlab package does it by default, in a few lines.

Given probabilities that each example's network did not see the example to make, it ranks labels by how sure of them
the network is, and marks as wrong as many as its estimate of the joint counts of given and true labels says:

1. An example counts as sure of class k if p_k is at least t_k, the mean of p_k over the examples labelled k; if sure of
   several, the likeliest counts. C_ij counts the examples labelled i that are sure of j.
2. Rows of C are scaled to the number of examples labelled i and rounded, their totals kept.
3. For each i and j apart, the C_ij examples labelled i with the largest p_j - p_i are marked (prune by noise rate).
4. A mark is taken back where the given label is the likeliest.

Compared with cleanlab 2.9.0 (`rank.get_label_quality_scores`, `filter.find_label_issues`) outside this repository,
which does not depend on it: see `studies/lpntk/poison.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float64]  # examples x classes
Labels = NDArray[np.int64]

NEARLY = 1e-6  # what cleanlab allows for rounding in both of its comparisons


def self_confidence(probabilities: Probabilities, labels: Labels) -> NDArray[np.float64]:
    """The probability of the given label, low for a doubtful one."""
    return probabilities[np.arange(labels.size), labels]


def normalised_margin(probabilities: Probabilities, labels: Labels) -> NDArray[np.float64]:
    """Half of 1 plus the probability of the given label minus the largest other one."""
    others = probabilities.copy()
    others[np.arange(labels.size), labels] = -np.inf
    return (self_confidence(probabilities, labels) - others.max(axis=1) + 1) / 2


def confident_joint(probabilities: Probabilities, labels: Labels) -> NDArray[np.int64]:
    """Estimated counts of given (rows) and true (columns) labels; each class must have an example."""
    classes = probabilities.shape[1]
    sizes = np.bincount(labels, minlength=classes)
    thresholds = np.array([probabilities[labels == k, k].mean() for k in range(classes)]).clip(2 * NEARLY)
    sure = probabilities >= thresholds - NEARLY
    guess = np.where(sure, probabilities, -np.inf).argmax(axis=1)
    # Of several that are reached the likeliest counts, be it reached or not.
    guess = np.where(sure.sum(axis=1) > 1, probabilities.argmax(axis=1), guess)
    counts = np.zeros((classes, classes))
    some = sure.any(axis=1)
    np.add.at(counts, (labels[some], guess[some]), 1)
    np.fill_diagonal(counts, counts.diagonal().clip(1))
    scaled = counts / counts.sum(axis=1, keepdims=True) * sizes[:, None]
    return np.array([_rounded(row) for row in scaled / scaled.sum() * labels.size])


def marked(probabilities: Probabilities, labels: Labels) -> NDArray[np.bool_]:
    """The labels taken for wrong."""
    joint = confident_joint(probabilities, labels)
    out = np.zeros(labels.size, dtype=bool)
    for given in range(joint.shape[0]):
        where = np.flatnonzero(labels == given)
        for true in np.flatnonzero(joint[given]):
            if true != given:
                lead = probabilities[where, true] - probabilities[where, given]
                out[where[np.argsort(-lead)[: joint[given, true]]]] = True
    raised = probabilities.copy()
    raised[np.arange(labels.size), labels] += NEARLY
    return out & (raised.argmax(axis=1) != labels)


def _rounded(row: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest whole numbers of the same total; of equally near ones those that cleanlab takes."""
    whole = row.round()
    short = round(row.sum()) - round(whole.sum())
    order = np.argsort(row - whole)
    whole[order[::-1][:short] if short > 0 else order[:-short]] += np.sign(short)
    return whole.astype(np.int64)
