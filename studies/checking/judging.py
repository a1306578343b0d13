"""How well wrong labels were found: average precision, F1, reliability, and a stack that knows the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.scores.wrong_share import ahead

__all__ = [
    "BINS",
    "average_precision",
    "f1",
    "observed_numbers",
    "oracle",
    "pooled",
    "reliability",
    "within_tolerance",
]

BINS = 10
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def average_precision(wrong: Flags, suspicion: Floats) -> float:
    """Area under precision over recall, the most suspicious first; NaN if nothing is wrong."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(wrong, suspicion)) if wrong.any() else float("nan")


def f1(wrong: Flags, flagged: Flags) -> float:
    """Harmonic mean of precision and recall of what is flagged; NaN if nothing is wrong."""
    return float(2 * (wrong & flagged).sum() / (wrong.sum() + flagged.sum())) if wrong.any() else float("nan")


def within_tolerance(estimate: float, truth: float) -> bool:
    """Whether an estimated share is within a third of the truth, or 4 points."""
    return abs(estimate - truth) <= max(truth / 3, 0.04)


def reliability(wrong: Flags, probability: Floats) -> list[list[float]]:
    """Per tenth of probability: how many examples, the sum of their probabilities, how many are wrong."""
    tenth = np.minimum((probability * BINS).astype(int), BINS - 1)
    columns = (np.ones(wrong.size), probability, wrong)
    return np.stack([np.bincount(tenth, one, BINS) for one in columns], axis=1).tolist()


def observed_numbers(signals: wn.Signals, classes: Floats) -> Floats:
    """Everything that says something about a label, one row per example.

    Parameters
    ----------
    signals
        With dynamics and predictions.
    classes
        Class probabilities by those that do not know the label, as `label_evidence` joins them.
    """
    assert signals.labels is not None
    labels, rows = np.asarray(signals.labels), np.arange(len(signals))
    learned = signals.array("predictions").mean(axis=0, dtype=np.float64)
    margins, losses = (signals.array(name).mean(axis=0, dtype=np.float64) for name in ("margins", "losses"))
    aum, early = -margins.mean(axis=0), -margins[: max(2, len(margins) // 2)][1:].mean(axis=0)
    return np.stack(
        [
            ahead(classes, labels),
            np.clip(aum / aum.std(), -3, 3),
            ahead(learned, labels),
            np.log(losses.mean(axis=0) + 0.05),
            np.clip(early / early.std(), -3, 3),
            -np.log(classes[rows, labels] + 1e-3),
            -np.log(np.clip(learned[rows, labels], 1e-3, 1)),
        ],
        axis=1,
    )


def oracle(numbers: Floats, wrong: Flags) -> Floats:
    """Probability of being wrong by a logistic regression that was fitted to the truth, on the same examples.

    What it reaches cannot be reached without the truth; it stands for the most that the signals hold.
    """
    from sklearn.linear_model import LogisticRegression

    if not wrong.any():
        return np.zeros(wrong.size)
    scaled = (numbers - numbers.mean(axis=0)) / (numbers.std(axis=0) + 1e-9)
    return np.asarray(LogisticRegression(max_iter=1000).fit(scaled, wrong).predict_proba(scaled)[:, 1])


def pooled(tables: Sequence[list[list[float]]]) -> Floats:
    """The reliability of several runs together."""
    return np.asarray(np.sum(tables, axis=0))
