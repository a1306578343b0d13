"""Dichotomous difficulty: how many networks that did not train on an example get it wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..core.errors import NotDefinedError

__all__ = ["dichotomous"]


@registry.score(needs={"ensemble_member", "ensemble_correct"}, paper="Meding et al. 2022 (dichotomous data difficulty)")
def dichotomous(signals: Signals) -> NDArray[np.float64]:
    """Share of the networks that were not trained on the example and get it wrong.

    1 - P(right | not in the training set), over models trained on random subsets (70 % each). Near 0 the example is
    trivial: every network gets it right without having seen it. Near 1 it is impossible. Either kind tells networks
    apart as little as the other.

    Parameters
    ----------
    signals
        Must have `ensemble_member` and `ensemble_correct`; every example must be left out by some model.
    """
    outside = 1.0 - signals.array("ensemble_member").astype(np.float64)
    wrong = 1.0 - signals.array("ensemble_correct").astype(np.float64)
    count = outside.sum(axis=0)
    if not count.all():
        raise NotDefinedError(
            f"score 'dichotomous' needs every example to be left out by some model; of {count.size} examples "
            f"{int((count == 0).sum())} are in all {len(outside)} subsets: observe more models."
        )
    return np.asarray((outside * wrong).sum(axis=0) / count)
