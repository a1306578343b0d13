"""Metrics of classification beside accuracy: balanced accuracy, macro F1 and AUROC, as sums over test examples.

Each is a mean over the classes that the test set has: of the accuracy within the class; of F1, the harmonic mean of
precision and recall; and of the area under the ROC curve of the class against all others, by predicted probability.

**Marks.** For intervals over test examples, each metric is written as the mean over classes of the class means of a
mark m_i per example. For balanced accuracy m_i is 1 or 0, right or wrong. The others are not means over examples, but
nearly: with i in class c, n_c its size, r_i right or wrong, and D_c = 2 TP_c + FP_c + FN_c,

    macro F1:  m_i = F_c + n_c (2 r_i - F_c (1 + r_i)) / D_c - n_c F_p / D_p   (the last if i is wrongly put into p),
    AUROC:     m_i = v_i + n_c sum over other classes d of (w_id - A_d) / (n - n_d),

with v_i the share of other classes' examples that score lower for c than i does, w_id the share of class d that scores
higher for d than i does, and A_d the area of class d (DeLong et al. 1988). The class means of these marks average to
the metric exactly, and they vary as the metric does if examples are exchanged (its influence function).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.errors import NotDefinedError
from ..core.parameter_names import of

__all__ = [
    "BESIDE",
    "CLASSIFIED",
    "LABEL_F1",
    "METRICS",
    "WORDS",
    "auroc_marks",
    "by_class",
    "class_mean",
    "f1_marks",
    "in_percent",
    "metric_of",
]

CLASSIFIED = ("accuracy", "balanced_accuracy", "macro_f1", "auroc")
BESIDE = CLASSIFIED[1:]  # beside accuracy
LABEL_F1 = ("micro F1", "macro F1")  # beside mean average precision, of several labels per example
METRICS = (*CLASSIFIED, "map", "r2")
WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "auroc": "AUROC",
    "map": "mean average precision",
    "r2": "R2",
}
Floats = NDArray[np.float64]
Classes = NDArray[np.integer]


def metric_of(task: str, asked: str | None, owner: str) -> str:
    """Return the metric that conclusions are based on: the one asked for, or the usual one of the task."""
    if task == "classification":
        if asked not in (None, *CLASSIFIED):
            raise NotDefinedError(
                f"{of('metric', owner)} must be one of {', '.join(CLASSIFIED)} for classes; got {asked}."
            )
        return asked or "accuracy"
    usual, words = ("map", "several labels per example") if task == "multilabel" else ("r2", "a regression")
    if asked not in (None, usual):
        raise NotDefinedError(f"{of('metric', owner)} must be {usual} for {words}; got {asked}.")
    return usual


def in_percent(metric: str) -> bool:
    """Whether a metric is written in per cent, and its differences in points."""
    return metric in ("accuracy", "balanced_accuracy", "map")


def class_mean(marks: Floats, labels: Classes) -> float:
    """Mean over classes of the class means."""
    counts = np.bincount(labels)
    sums = np.bincount(labels, weights=marks)
    return float((sums[counts > 0] / counts[counts > 0]).mean())


def f1_marks(predicted: Classes, labels: Classes, classes: int) -> Floats:
    """The marks of macro F1; a prediction of a class that the test set lacks is only a miss.

    >>> marks = f1_marks(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 2)
    >>> round(class_mean(marks, np.array([0, 0, 0, 1])), 4)  # F1 of the classes: 0.8 and 0.6667
    0.7333
    """
    right = predicted == labels
    counts, hits = (np.bincount(one, minlength=classes) for one in (labels, labels[right]))
    said = np.bincount(predicted, minlength=classes)
    whole = np.maximum(counts + said, 1)  # 2 TP + FP + FN
    score = np.where(counts > 0, 2 * hits / whole, 0.0)
    own, size = score[labels], counts[labels]
    marks = own + size * (2 * right - own * (1 + right)) / whole[labels]
    return np.asarray(marks - np.where(right, 0.0, size * score[predicted] / whole[predicted]))


def auroc_marks(chances: Floats, labels: Classes) -> Floats | None:
    """The marks of AUROC, from the probabilities of all classes; None if the test set has only one class.

    >>> chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]])
    >>> class_mean(auroc_marks(chances, np.array([0, 0, 1, 1])), np.array([0, 0, 1, 1]))
    0.75
    """
    n, counts = labels.size, np.bincount(labels)
    present = np.flatnonzero(counts)
    if present.size < 2:
        return None
    marks = np.zeros(n)
    for one in present.tolist():
        inside = labels == one
        scores = chances[:, one]
        ours, everyone = np.sort(scores[inside]), np.sort(scores)
        above = _below(ours, scores)  # of this class, for every example
        mine = scores[inside]
        won = (_below(everyone, mine) - above[inside]) / (n - counts[one])
        marks[inside] += won
        lost = 1 - above[~inside] / counts[one]
        marks[~inside] += counts[labels[~inside]] * (lost - won.mean()) / (n - counts[one])
    return marks


def _below(ordered: Floats, values: Floats) -> Floats:
    """How many of the ordered numbers are below each value; equal ones count half."""
    left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray((left + right) / 2)


def by_class(values: Floats, labels: Classes, added: tuple[float, ...]) -> tuple[Floats, float]:
    """Rewrite marks so that their plain mean is the mean over classes of the class means, and varies as that does.

    Parameters
    ----------
    values
        Seeds x examples: marks, or differences of marks.
    labels
        The classes of the examples.
    added
        Marks that are added when variances are estimated, so that agreement on a few examples is not taken for
        certainty; each class gets an equal part of them.

    Returns
    -------
    tuple
        The rewritten values, and what the added marks add to the variance between examples.
    """
    n, counts = labels.size, np.bincount(labels)
    present = np.flatnonzero(counts)
    centre = np.stack([values[:, labels == one].mean(1) for one in present])  # classes x seeds
    made = np.broadcast_to(centre.mean(0)[:, None], values.shape).copy()
    extra = 0.0
    for one, level in zip(present.tolist(), centre, strict=True):
        inside, size = labels == one, int(counts[one])
        weight = n / (present.size * size)
        part = values[:, inside]
        made[:, inside] += (part - level[:, None]) * weight * np.sqrt(size / max(1, size - 1))
        if added:
            by_example = part.mean(0)
            seen = float(by_example.var(ddof=1)) if size > 1 else 0.0
            extra += max(0.0, _with_added(by_example, added, present.size) - seen) * weight / present.size
    return made, extra


def _with_added(marks: Floats, added: tuple[float, ...], classes: int) -> float:
    """Variance of the marks of one class, with one part in `classes` of the added ones."""
    values = np.append(marks, added)
    mass = np.append(np.ones(marks.size), np.full(len(added), 1 / classes))
    centre = float((mass * values).sum() / mass.sum())
    return float((mass * np.square(values - centre)).sum() / max(mass.sum() - 1, 1 / classes))
