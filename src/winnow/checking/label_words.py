"""What speaks for and against each label, in words that agree with the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..scores.aum import aum
from ..scores.mislabelled import LabelEvidence

__all__ = ["Judged", "few_words", "label_words"]

AMBIGUOUS = 0.3  # probability that both of two classes have at least
DOUBTED = 0.5  # probability from which on a label is more likely wrong than right
LATE = 1.0  # standard deviations of the mean margin below the mean of all labels
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Judged:
    """The evidence on each label, and the verdict.

    Parameters
    ----------
    found
        The evidence.
    flagged
        Labels that count as wrong.
    known
        Whether networks predict labels better than the largest class does.
    few
        Examples of classes that are too small to judge.
    copied
        Examples that most of their near-duplicates contradict.
    verdicts
        What a person said of each.
    """

    found: LabelEvidence
    flagged: Mask
    known: bool
    few: Mask
    copied: Mask
    verdicts: NDArray[Any]

    @property
    def ambiguous(self) -> Mask:
        """Where the given class and another one are both likely, and together nearly certain."""
        if not self.known:
            return np.zeros(self.flagged.size, dtype=bool)
        rows = np.arange(self.flagged.size)
        mine = self.found.classes[rows, self.found.labels]
        theirs = self.found.classes[rows, self.found.suggestion]
        both = (mine >= AMBIGUOUS) & (theirs >= AMBIGUOUS) & (mine + theirs >= 0.8)
        return np.asarray(both & ~self.flagged & ~self.few)


def few_words(count: int, name: str) -> str:
    """Say that a class is too small to judge.

    >>> few_words(2, "cat")
    'not judged: cat has 2 examples, too few to tell whether a label is wrong'
    """
    many = "1 example" if count == 1 else f"{count} examples"
    return f"not judged: {name} has {many}, too few to tell whether a label is wrong"


def label_words(judged: Judged, signals: Signals, names: NDArray[Any]) -> NDArray[Any]:
    """The evidence on each label in words.

    Parameters
    ----------
    judged
        The evidence and the verdict.
    signals
        What was observed, in the same order.
    names
        Of the classes.
    """
    found, flagged = judged.found, judged.flagged
    rows = np.arange(found.labels.size)
    who = "networks that were not trained on it" if found.out_of_fold else "the network that was trained on it"
    mine, theirs = found.classes[rows, found.labels], found.classes[rows, found.suggestion]
    other = names[found.suggestion]
    usual = "nothing speaks against the label"
    if not judged.known:
        usual = "not judged: networks predict the labels no better than always naming the largest class"
    made = np.full(rows.size, usual, dtype=object)
    for i in np.flatnonzero(theirs > mine) if judged.known else ():
        made[i] = f"hard, not wrong: {who} lean towards {other[i]}, but learn the label"
    for i in np.flatnonzero((theirs > mine) & (found.probability >= DOUBTED)) if judged.known else ():
        made[i] = f"{who} lean towards {other[i]}, but held-out labels are predicted worse without such examples"
    for i in np.flatnonzero(judged.ambiguous):
        made[i] = f"two plausible classes, the given one and {other[i]}"
    counts = np.bincount(found.labels)
    for i in np.flatnonzero(judged.few):
        made[i] = few_words(int(counts[found.labels[i]]), str(names[found.labels[i]]))
    late = _late(signals)
    for i in np.flatnonzero(flagged):
        said = f"{who} give {other[i]} {theirs[i]:.0%} and the label {mine[i]:.0%}"
        made[i] = said if theirs[i] > mine[i] else f"{_instead(judged, late, int(i))}, though {said}"
        if not judged.known:
            made[i] = _instead(judged, late, int(i))
    return made


def _instead(judged: Judged, late: Mask, i: int) -> str:
    """Why a label is flagged that the class probabilities do not speak against."""
    if judged.verdicts[i] == "confirmed":
        return "confirmed by a person"
    if judged.copied[i]:
        return "most of its near-duplicates have another label"
    if late[i]:
        who = "networks that were trained on it" if judged.found.out_of_fold else "that network"
        return f"{who} learned the label late or never"
    return "the label is less sure than most others"


def _late(signals: Signals) -> Mask:
    """Labels that training learned late or never."""
    if "margins" not in signals:
        return np.zeros(len(signals), dtype=bool)
    hard = aum(signals)
    return np.asarray(hard > hard.mean() + LATE * hard.std())
