"""Token loss: how badly a causal language model predicts the response of an example. Needs no labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry

__all__ = ["token_loss"]


@registry.score(
    needs={"token_losses"}, paper="Marion et al. 2023", tasks=("classification", "regression", "unlabelled")
)
def token_loss(signals: Signals) -> NDArray[np.float64]:
    """Mean loss of a causal language model per token of the response, given its prompt.

    The logarithm of the perplexity. The highest are often broken texts, so the middle is what one usually keeps.

    Parameters
    ----------
    signals
        Must have `token_losses`.
    """
    return signals.array("token_losses").astype(np.float64)
