"""What the parts of this study share: exponents, and how sentences begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def exponent(sizes: ArrayLike, errors: ArrayLike) -> float:
    """The alpha of `error = c size^-alpha`, by least squares on logarithms."""
    return -float(np.polyfit(np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(errors)), 1)[0])


def begun(words: str) -> str:
    """The words with a capital at the start, and the rest as it is."""
    return words[:1].upper() + words[1:]
