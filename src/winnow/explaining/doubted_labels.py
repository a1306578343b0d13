"""Doubted labels: which labels look wrong, by the training that the explanation needs anyway.

The probability that a label is wrong and the likely class are those of the score `mislabelled`. The kernel adds the
nearest example of that class, as a witness, if the two teach each other anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Signals
from ..artefacts.explanation import LabelError
from ..artefacts.finding import FEWEST_JUDGED
from ..artefacts.source import positions_of
from ..methods.lpntk.kernel_rows import opened
from ..scores.mislabelled import label_evidence

if TYPE_CHECKING:
    from .class_relations import Examples

__all__ = ["LIKELY", "UNRELATED", "DoubtedLabels", "witness"]

LIKELY = 0.5  # a label looks wrong if it is more likely wrong than right
UNRELATED = 0.05  # of a cosine or a projection; two examples below it say nothing about each other
TOO_MANY = 0.5  # share of wrong labels; if more look wrong, the training learned too little to judge any


@dataclass(frozen=True, eq=False)
class DoubtedLabels:
    """Per example, the probability that its label is wrong, and the likely class.

    Parameters
    ----------
    probability
        In the order of the examples; NaN if the class is too small to judge.
    likely
        Class numbers.
    """

    probability: NDArray[np.float64]
    likely: NDArray[np.int64]

    @classmethod
    def of(cls, signals: Signals, ids: ArrayLike) -> DoubtedLabels | None:
        """Those of some examples, in their order; None if the signals do not tell.

        They do not if they hold no margins or predictions, or if most labels look wrong by them.

        Parameters
        ----------
        signals
            Of all examples that were trained on.
        ids
            The examples.
        """
        if "margins" not in signals or "predictions" not in signals:
            return None
        signals = signals.canonical()  # sums in the order of the ids, so that no order changes a digit
        found = label_evidence(signals)
        if found.share > TOO_MANY:
            return None
        values = np.where(np.bincount(found.labels)[found.labels] < FEWEST_JUDGED, np.nan, found.probability)
        where = positions_of(signals.ids, ids, "signals")
        return cls(values[where], found.suggestion[where])

    @property
    def wrong(self) -> NDArray[np.int64]:
        """Positions of the labels that look wrong, most likely first."""
        sure = np.nan_to_num(self.probability, nan=0.0)
        order = np.argsort(-sure, kind="stable")
        return order[sure[order] > LIKELY]

    def rank(self, i: int) -> int:
        """The rank of an example among all, 1 for the label that is most likely wrong."""
        return int((np.nan_to_num(self.probability, nan=0.0) > self.probability[i]).sum()) + 1

    def error(self, among: Examples, i: int) -> LabelError:
        """The label issue at a position."""
        number = int(self.likely[i])
        return LabelError(
            among.id(i),
            among.label(i),
            float(self.probability[i]),
            LIKELY,
            among.classes[number],
            witness(among, i, number),
        )


def witness(among: Examples, i: int, number: int) -> Any:
    """The id of the example of a class that is nearest to another example, by absolute cosine.

    None if no example of the class is related to it at all, such as those of a linear model of four classes.
    """
    members = np.flatnonzero((among.labels == number) & (np.arange(len(among)) != i))
    if not members.size:
        return None
    kernel = opened("explain", among.kernel)
    row = np.asarray(kernel.block(np.array([i]), members))[0]
    cosine = np.abs(row) / np.sqrt(kernel.diagonal[members]) / np.sqrt(kernel.diagonal[i])
    return among.id(members[cosine.argmax()]) if cosine.max() > UNRELATED else None
