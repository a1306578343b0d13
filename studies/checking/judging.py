"""How well wrong labels were found: average precision, F1, reliability, an oracle, and what marks change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from winnow.checking.label_issues import flagged_from
from winnow.checking.marked_labels import marked_labels
from winnow.scores.wrong_share import ahead

__all__ = [
    "BINS",
    "after_marks",
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


def after_marks(ids: NDArray[np.generic], probability: Floats, wrong: Flags, draw: int) -> list[float]:
    """The share, its bounds, and F1 of what is flagged once a person has marked the 60 that `Issues.to_mark` asks for.

    The person knows the truth. `draw` is the seed of what is asked.
    """
    ranking = {"id": ids, "probability": probability}
    found = wn.Issues.of_findings([], ranking=ranking, source="marks", task="classification")
    chosen = np.isin(ids, found.to_mark(seed=draw))
    known = marked_labels(probability, np.where(chosen, np.where(wrong, "confirmed", "refused"), ""))
    assert known.bounds is not None
    flagged = np.where(chosen, wrong, known.probability >= flagged_from(known.probability))
    return [float(known.probability.mean()), *known.bounds, f1(wrong, flagged) if wrong.any() else 0.0]
