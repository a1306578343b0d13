"""Instruction difficulty: how little the prompt helps a causal language model with the response. Needs no labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry

__all__ = ["instruction_difficulty"]


@registry.score(
    needs={"token_losses", "token_losses_alone"},
    paper="Li et al. 2024",
    tasks=("classification", "regression", "unlabelled"),
)
def instruction_difficulty(signals: Signals) -> NDArray[np.float64]:
    """Loss per token of the response given its prompt, over the same without the prompt (IFD).

    Near 0 the prompt says it all; 1 and more: the prompt does not help, and the pair may not belong together. An empty
    response counts 1.

    Parameters
    ----------
    signals
        Must have `token_losses` and `token_losses_alone`.
    """
    given, alone = (signals.array(name).astype(np.float64) for name in ("token_losses", "token_losses_alone"))
    return np.divide(given, alone, out=np.ones_like(given), where=alone > 0)
