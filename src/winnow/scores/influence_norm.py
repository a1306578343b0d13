"""Influence norm: how far leaving an example out moves a linear head."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry

__all__ = ["influence_norm"]


@registry.score(
    needs={"embeddings"},
    paper="Koh and Liang 2017; Yang et al. 2023",
    tasks=("classification", "regression"),
    cost=registry.Cost("n classes", memory=9),
)
def influence_norm(signals: Signals, *, damping: float = 0.01) -> NDArray[np.float64]:
    """How far leaving that one example out moves a regularised linear head on the embeddings.

    |s_i|, s_i = (1 / n) H^-1 (grad L_i + lam theta), with a softmax head (least squares for regression) trained on the
    scaled embeddings and a column of ones by mean L + lam / 2 |theta|^2. Beware: it ranks much as EL2N taken
    from that head does, for the length of the gradient is what varies, so it is no second vote beside it (EL2N from
    early in a training is further off); and removing the lowest moves the head
    more than removing at random, because what they have in common adds up. The selector `influence` counts that.

    Parameters
    ----------
    signals
        With `embeddings`, and labels.
    damping
        lam, above 0.
    """
    from ..methods.influence.observed_head import observed_vectors

    lam = checks.number("damping", "score 'influence_norm'", damping, low=0.0, open_low=True)
    labels = np.asarray(signals.labels)
    found, _ = observed_vectors(signals.embeddings, labels, signals.task, len(signals.classes), lam)
    return found.norms
