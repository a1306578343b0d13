"""Memorization: how much a network must have seen an example to get it right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..core.errors import NotDefinedError

__all__ = ["memorization"]


@registry.score(needs={"ensemble_member", "ensemble_correct"}, paper="Feldman and Zhang 2020")
def memorization(signals: Signals) -> NDArray[np.float64]:
    """Accuracy on the example when trained with it, minus the accuracy when trained without it.

    P(right | in the training set) - P(right | not in it), over models trained on random subsets (70 % each).

    Parameters
    ----------
    signals
        Must have `ensemble_member` and `ensemble_correct`; every example must be in some subset and not in another.
    """
    member = signals.array("ensemble_member").astype(np.float64)
    correct = signals.array("ensemble_correct").astype(np.float64)
    inside, models = member.sum(axis=0), member.shape[0]
    always, never = int((inside == models).sum()), int((inside == 0).sum())
    if always or never:
        share = float(np.clip(member.mean(), 0.05, 0.95))
        enough = int(np.ceil(np.log(0.01 / member.shape[1]) / np.log(max(share, 1 - share))))
        raise NotDefinedError(
            f"score 'memorization' needs every example both in and out of some model's training set; of "
            f"{member.shape[1]} examples {always} are in all {models} subsets and {never} in none: observe about "
            f"{max(enough, models + 1)} models on subsets of this size."
        )
    with_it = (member * correct).sum(axis=0) / inside
    without_it = ((1 - member) * correct).sum(axis=0) / (models - inside)
    return np.asarray(with_it - without_it)
