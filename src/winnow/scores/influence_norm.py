"""Influence norm: how much removing an example changes a linear head."""

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
    """How much removing the example changes a regularised linear head on the embeddings.

    |s_i|, s_i = (1 / n) H^-1 (grad L_i + lam theta), with a softmax head (least squares for regression) trained on the
    scaled embeddings and a column of ones by mean L + lam / 2 |theta|^2. Two warnings. It ranks almost as EL2N from the
    same head does, because mostly the length of the gradient varies, so the two are not independent evidence (EL2N from
    early in a training differs more). And removing the lowest changes the head more than removing at random, because
    their common part adds up; the selector `influence` takes that into account.

    Parameters
    ----------
    signals
        Must have `embeddings` and labels.
    damping
        lam, above 0.
    """
    from ..methods.influence.observed_head import observed_vectors

    lam = checks.number("damping", "score 'influence_norm'", damping, low=0.0, open_low=True)
    labels = np.asarray(signals.labels)
    found, _ = observed_vectors(signals.embeddings, labels, signals.task, len(signals.classes), lam)
    return found.norms
