"""GraNd: the norm of an example's gradient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry

__all__ = ["grand"]


@registry.score(
    needs={"gradient_norms"}, paper="Paul et al. 2021", tasks=("classification", "multilabel", "regression")
)
def grand(signals: Signals) -> NDArray[np.float64]:
    """Norm of the loss gradient of the example.

    mean over seeds of || grad_w loss(x, y) ||, over all parameters, one example at a time so that the batch size does
    not matter. Observe it on a network that has trained for a while: at initialisation it does worse than random (the
    claim that it works there came from a checkpoint bug). On a well-trained network it ranks as EL2N does.

    Parameters
    ----------
    signals
        Must have `gradient_norms`.
    """
    return np.asarray(signals.array("gradient_norms").mean(axis=0, dtype=np.float64))
