"""Loss influence: how removing an example changes the loss on held-out examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import checks, registry

__all__ = ["loss_influence"]


@registry.score(
    needs={"embeddings"},
    paper="Koh and Liang 2017; Yang et al. 2023",
    tasks=("classification", "regression"),
    cost=registry.Cost("n classes", memory=9),
)
def loss_influence(
    signals: Signals, *, damping: float = 0.01, folds: int = 5, signed: bool = False
) -> NDArray[np.float64]:
    """How much removing the example changes a linear head's loss on held-out examples.

    Eq. 5: (mean gradient of the held-out losses) . s_i, with s_i as in `influence_norm`. The examples are split into
    folds, per class in the order of their ids; a head is trained without each fold and validated on it, and an
    example's value is the mean over the heads trained on it. The score is its absolute value, large for examples that
    the held-out loss depends on; with `signed` it is the increase of the loss, negative for harmful examples. To use
    your own validation set, call `wn.influence.loss_influence`.

    Parameters
    ----------
    signals
        Must have `embeddings` and labels.
    damping
        lam of the head's training, above 0.
    folds
        The number of folds, at least 2 and at most the number of examples.
    signed
        Whether to keep the sign.
    """
    from scipy.special import softmax

    from ..methods.influence import loss_influence as on_others
    from ..methods.influence.observed_head import head_features, observed_head
    from ..methods.influence.vectors import vectors_of

    owner = "score 'loss_influence'"
    lam = checks.number("damping", owner, damping, low=0.0, open_low=True)
    many = checks.integer("folds", owner, folds, low=2, high=len(signals))
    labels, classification = np.asarray(signals.labels), signals.task == "classification"
    features = head_features(signals.embeddings)
    classes = max(len(signals.classes), int(labels.max()) + 1) if classification else 0
    fold = _folds(labels if classification else np.zeros(len(labels), dtype=np.int64), many)
    total, seen = np.zeros(len(labels)), np.zeros(len(labels))
    for held in np.unique(fold):
        inside, outside = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        head, found = observed_head(features[inside], labels[inside], signals.task, classes, lam)
        outputs = features[outside] @ found.theta
        outputs = softmax(outputs, axis=-1) if classification else outputs
        total[inside] += on_others(vectors_of(head), features[outside], outputs, labels[outside])
        seen[inside] += 1
    values = total / seen
    return values if signed else np.abs(values)


def _folds(groups: NDArray[np.int64], many: int) -> NDArray[np.int64]:
    """The fold of each example: round-robin within a group; each group continues where the last one stopped."""
    fold = np.empty(groups.size, dtype=np.int64)
    fold[np.argsort(groups, kind="stable")] = np.arange(groups.size) % many
    return fold
