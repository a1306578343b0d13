"""Interchangeability: how few other examples could replace an example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry
from .arithmetic import labels_of

__all__ = ["interchangeability"]


@registry.score(needs={"lpntk"}, paper="Guo et al. 2024 (lpNTK)", cost=registry.Cost("class^2", memory=2))
def interchangeability(signals: Signals, *, threshold: float = 0.75) -> NDArray[np.float64]:
    """Minus the number of examples of its class that are interchangeable with it.

    With phi the lpNTK feature, x and x' are interchangeable (Appendix C) if phi.phi' is at least t |phi|^2 and at
    least t |phi'|^2. The score is minus the mean over seeds of the number of such partners, so an example that no
    other can replace is the hardest. Partners of other classes are ignored: with K classes two copies of one input with
    different labels have a cosine of about (K - 4) / K, which exceeds t for many classes without meaning anything.

    Parameters
    ----------
    signals
        Must have `lpntk` and labels.
    threshold
        t, in (1/2, 1].
    """
    from ..methods.lpntk import FeatureRows, relations
    from ..methods.lpntk.signal import with_length

    checks.number("threshold", "score 'interchangeability'", threshold, low=0.5, high=1.0, open_low=True)
    labels, seeds = labels_of(signals), signals.array("lpntk")
    partners = np.zeros(len(signals))
    for rows in map(with_length, seeds):
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            if members.size > 1:
                partners[members] += relations(FeatureRows(rows[members]), threshold=threshold).examples[:, 0]
    return -partners / len(seeds)
