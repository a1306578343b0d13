"""Loss influence: what leaving an example out does to the loss on examples the head has not seen."""

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
    """How much leaving that one example out changes a linear head's loss on examples held out.

    Eq. 5: (mean gradient of the held-out losses) . s_i, with s_i as in `influence_norm`. The examples are split into
    folds, class by class in the order of their ids; a head is trained without each fold and validated on it, and an
    example's value is the mean over the heads that saw it. The score is its size, large for examples that the held-out
    loss depends on; with `signed` it is the rise of the loss itself, below 0 for examples that do harm. For a
    validation set of your own call `wn.influence.loss_influence`.

    Parameters
    ----------
    signals
        With `embeddings`, and labels.
    damping
        lam of the head's training, above 0.
    folds
        How many, at least 2 and at most the number of examples.
    signed
        Whether to keep the sign.
    """
    from ..methods.influence import loss_influence as on_others
    from ..methods.influence.heads import softmaxed
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
        outputs = softmaxed(outputs) if classification else outputs
        total[inside] += on_others(vectors_of(head), features[outside], outputs, labels[outside])
        seen[inside] += 1
    values = total / seen
    return values if signed else np.abs(values)


def _folds(groups: NDArray[np.int64], many: int) -> NDArray[np.int64]:
    """The fold of each example: within a group, one after the other; groups go on where the last one stopped."""
    fold = np.empty(groups.size, dtype=np.int64)
    fold[np.argsort(groups, kind="stable")] = np.arange(groups.size) % many
    return fold
