"""Random: the baseline for every other score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals
from ..core import registry
from ..core.seeds import uniforms

__all__ = ["random"]


@registry.score(needs=(), paper="baseline", tasks=registry.ALL_TASKS)
def random(signals: Signals, *, seed: int = 0) -> NDArray[np.float64]:
    """Uniform on (0, 1), seeded.

    The number depends only on the seed and the example's id.

    Parameters
    ----------
    signals
        Any.
    seed
        Seed of the draw.
    """
    return uniforms(seed, "random score", signals.ids)
