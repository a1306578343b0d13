"""Unsteadiness: the mean wobble of an example."""

from __future__ import annotations

import numpy as np

from winnow.core import registry

__all__ = ["unsteadiness"]


@registry.score(needs={"wobble"}, paper="an example", cost=registry.Cost("n", memory=1))
def unsteadiness(signals, *, shake: int = 0) -> np.ndarray:
    """Mean over seeds of the change of the loss when the input is shaken.

    Parameters
    ----------
    signals
        With `wobble`.
    shake
        Which shake: 0 is the small one.
    """
    return signals.array("wobble")[:, :, shake].mean(axis=0, dtype=np.float64)
