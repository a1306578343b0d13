"""Findings about classes: pairs that are confused, and classes too small to learn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.finding import FEWEST_JUDGED, Finding
from ..core import checks
from ..core.errors import InputError

__all__ = ["class_findings"]

OFTEN = 3.0  # how many times as often as the usual pair a confused pair is taken for each other
SHARE = 0.05  # of the examples of both classes, at least
FEW = 50  # examples; fewer are too few if the class is hardly ever recognised
LOST = 0.5  # of the recall of all classes


def class_findings(labels: ArrayLike, predictions: ArrayLike, classes: tuple[str, ...]) -> list[Finding]:
    """Find pairs of classes that are taken for each other, and classes with too few examples.

    Parameters
    ----------
    labels
        Class numbers, one per example.
    predictions
        Out-of-fold probabilities (n x K), or predicted class numbers; -1 for an example without a prediction.
    classes
        Names of the classes.

    Returns
    -------
    list
        Findings of kind `class`, the surest first. The probability of a pair is that it is confused more than three
        times as often as the usual pair, given the counts.
    """
    owner = "class_findings"
    given = checks.array("labels", owner, labels, ndim=1)
    said = checks.array("predictions", owner, predictions, ndim=(1, 2), rows=given.size)
    k = len(classes)
    if said.ndim == 2:
        if said.shape[1] != k:
            raise InputError(f"predictions of {owner} must have {k} columns; got {said.shape[1]}.")
        said = said.argmax(axis=1)
    counts = np.bincount(given, minlength=k)
    known = said >= 0
    confusion = np.zeros((k, k))
    np.add.at(confusion, (given[known], said[known].astype(np.int64)), 1)
    return sorted(_pairs(confusion, classes) + _small(counts, confusion, classes), key=lambda one: -one.probability)


def _pairs(confusion: NDArray[np.float64], classes: tuple[str, ...]) -> list[Finding]:
    """Pairs that are confused far more often than the others."""
    k = len(classes)
    if k < 3:  # with two classes there is nothing to compare with
        return []
    size = confusion.sum(axis=1)
    upper = np.triu_indices(k, 1)
    wrong = (confusion + confusion.T)[upper]
    total = np.maximum((size[:, None] + size[None, :])[upper], 1)
    usual = wrong.sum() / total.sum()
    least = np.maximum(OFTEN * usual, SHARE) * total
    out = []
    for place in np.flatnonzero(wrong > least):
        a, b = int(upper[0][place]), int(upper[1][place])
        # the chance that counts so large come from a pair just at the limit, by the normal approximation of the root
        z = 2 * (math.sqrt(wrong[place]) - math.sqrt(least[place]))
        sure = 1 - math.erfc(z / math.sqrt(2)) / 2
        words = (
            f"{wrong[place] / total[place]:.1%} of their examples are taken for the other "
            f"({int(confusion[a, b])} of {classes[a]} for {classes[b]}, {int(confusion[b, a])} the other way); "
            f"a usual pair has {usual:.1%}"
        )
        out.append(Finding("class", sure, words, subject=f"{classes[a]}, {classes[b]}"))
    return out


def _small(counts: NDArray[np.int64], confusion: NDArray[np.float64], classes: tuple[str, ...]) -> list[Finding]:
    """Classes with so few examples that they are not recognised, or that nobody could tell whether they are."""
    size = confusion.sum(axis=1)
    recall = np.divide(confusion.diagonal(), size, out=np.zeros(len(classes)), where=size > 0)
    every = confusion.diagonal().sum() / max(size.sum(), 1)
    out = []
    for place, name in enumerate(classes):
        many = "1 example" if counts[place] == 1 else f"{counts[place]} examples"
        if counts[place] < FEWEST_JUDGED:
            out.append(Finding("class", 0.95, f"{many}: too few to learn, and to tell whether it was", subject=name))
        elif counts[place] < FEW and recall[place] < LOST * every:
            words = f"{many}, of which {recall[place]:.0%} are recognised; of all examples {every:.0%}"
            out.append(Finding("class", 0.8, words, subject=name))
    return out
