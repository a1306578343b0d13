"""The trial of what is flagged: would a training without it be worse? Then it is not flagged.

If labels are wrong, a fit without them predicts held-out labels about as well or better, though some of these are wrong
too. If it predicts them clearly worse, and by a good part of what is flagged, most of the flagged labels are right but
hard, or follow a rule that can be learned, and whoever trains without them loses. A small loss says nothing even where
it is certain: if a class is often taken for one other, a fit to the wrong labels learns that too, and held-out labels
have the same errors. The fit is a ridge head on embeddings (`scores.ridge_head`), so it takes seconds and no test data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scores.mislabelled import LabelEvidence
from ..scores.ridge_head import cleaning_gain

__all__ = ["supported_from"]

FEWEST = 5  # flags from which on they are tried
HARM = 1.64  # standard errors: what chance alone exceeds once in twenty times
NEEDED = 0.2  # held-out labels lost per flagged one, from which on these are needed


def supported_from(found: LabelEvidence, ids: NDArray[Any], border: float) -> float:
    """The border, raised until a fit without what is flagged does not predict held-out labels clearly worse.

    If it does by HARM standard errors and NEEDED of what is flagged, only the surer half is flagged, and so on; none if
    that does not help.

    Parameters
    ----------
    found
        What is known about each label.
    ids
        Of the examples.
    border
        The probability from which on labels would be flagged.
    """
    if found.head is None:
        return border
    targets = np.eye(found.classes.shape[1])[found.labels]
    while True:
        flagged = found.probability >= border
        if flagged.sum() < FEWEST:
            return border
        gain, error = cleaning_gain(found.head, ids, targets, flagged)
        if gain >= -max(HARM * error, NEEDED * float(flagged.mean())):
            return border
        surer = float(np.median(found.probability[flagged]))
        border = surer if surer > border else float(np.nextafter(found.probability.max(), 2.0))
