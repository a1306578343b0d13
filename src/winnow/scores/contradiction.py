"""Contradiction: how little an example's own class supports it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry
from .arithmetic import labels_of

__all__ = ["contradiction"]


@registry.score(needs={"lpntk"}, paper="Guo et al. 2024 (lpNTK)", cost=registry.Cost("class^2", memory=2))
def contradiction(signals: Signals, *, share: float = 0.2) -> NDArray[np.float64]:
    """How little its class supports it: 0 full support, 1/2 none, 1 full contradiction.

    mean over seeds of (1 - support) / 2, where support is the mean of the largest cosines phi.phi' / |phi| |phi'| of
    its lpNTK feature with others of its class, over a share of them. It follows Appendix C.3: an example that is not
    interchangeable with its class is an outlier of it. `lpntk.contradictions` gives more details. An example alone in
    its class scores 0.

    It says what a class has in common, and is no way to find label issues: where people made the mistakes (CIFAR-10
    with human labels), it ranks wrong labels worse than plain loss does. `wn.check` finds them.

    Parameters
    ----------
    signals
        Must have `lpntk` and labels.
    share
        The share of a class, in (0, 1], that the mean is taken over.
    """
    from ..methods.lpntk import FeatureRows
    from ..methods.lpntk.contradictions import unsupported
    from ..methods.lpntk.signal import with_length

    checks.fraction("share", "score 'contradiction'", share)
    labels, seeds = labels_of(signals), signals.array("lpntk")
    total = np.zeros(len(signals))
    for rows in map(with_length, seeds):
        total += unsupported(FeatureRows(rows), labels, share)
    return total / len(seeds)
