"""What is known about each of several labels of an example: each label by itself is a classification into two.

For label k, an example has it or not; what others say, how hard it is to learn and the share of wrong labels follow as
in `mislabelled`, with the two classes "has it" and "has it not". How hard it is to learn is read from the mean
predictions of the training. An example is wrong if any of its labels is: 1 - product over k of (1 - P(label k wrong)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from .class_opinions import NEIGHBOURS, head_votes, neighbour_votes
from .mislabelled import label_evidence
from .ridge_head import ridge_head

__all__ = ["LabelSetEvidence", "label_set_evidence"]

Floats = NDArray[np.float64]
SUREST = 1e-3  # predictions are kept this far from 0 and 1


@dataclass(frozen=True, eq=False)
class LabelSetEvidence:
    """What is known about each label of each example.

    Parameters
    ----------
    wrong
        Probability that it is wrongly given, or wrongly not given: one row per example, one column per label.
    chances
        Probability of each label, by those that do not know whether it is given.
    labels
        What is given: rows of 0 and 1.
    out_of_fold
        Whether the networks behind it were not trained on the example.
    """

    wrong: Floats
    chances: Floats
    labels: NDArray[np.uint8]
    out_of_fold: bool

    @property
    def probability(self) -> Floats:
        """Probability that any label of the example is wrong."""
        return np.asarray(1.0 - np.prod(1.0 - self.wrong, axis=1))


def label_set_evidence(signals: Signals) -> LabelSetEvidence:
    """Return what is known about each label; `signals` needs `predictions` or `oof`."""
    labels = np.asarray(signals.labels, dtype=np.uint8)
    rows = signals.embeddings.reshape(len(signals), -1) if "oof" in signals and "embeddings" in signals else None
    near = None if rows is None else _neighbours(signals)
    said = None if rows is None else ridge_head(rows, signals.ids, labels.astype(np.float64)).predictions
    wrong, chances = np.zeros(labels.shape), labels.astype(np.float64)
    for label in np.flatnonzero(np.ptp(labels, axis=0)):  # one that all have, or none, has nothing to be told by
        two = _as_two_classes(signals, int(label))
        beside: list[Floats] = []
        if near is not None and said is not None:
            head = head_votes(np.stack([1 - said[:, label], said[:, label]], axis=1))
            beside = [neighbour_votes(two, np.asarray(two.labels), 2, near), head]
        found = label_evidence(two, beside)
        wrong[:, label], chances[:, label] = found.probability, found.classes[:, 1]
    return LabelSetEvidence(wrong, chances, labels, "oof" in signals)


def _neighbours(signals: Signals) -> NDArray[np.int64]:
    """The nearest neighbours of each example, found once for all labels."""
    from ..signals.neighbours import nearest

    rows = signals.embeddings.reshape(len(signals), -1)
    return nearest(rows, min(NEIGHBOURS, len(signals) - 1), ids=signals.ids).positions


def _as_two_classes(signals: Signals, label: int) -> Signals:
    """One label as a classification into examples without and with it."""
    given = np.asarray(signals.labels)[:, label].astype(np.int64)
    arrays = {}
    for name in ("oof", "predictions"):
        if name in signals:
            has = signals.array(name)[:, :, label].astype(np.float64)
            arrays[name] = np.stack([1.0 - has, has], axis=2)
    if "predictions" in arrays:
        has = np.clip(arrays["predictions"][:, :, 1], SUREST, 1 - SUREST)
        arrays["margins"] = (np.where(given != 0, 1.0, -1.0) * np.log(has / (1 - has)))[:, None, :]
    if "embeddings" in signals.arrays:
        arrays["embeddings"] = signals.embeddings
    return Signals(signals.ids, arrays, "classification", given, ("without", "with"), (1,), 1)
