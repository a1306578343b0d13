"""Where a search should look next: a curve fitted to what it has measured.

Loss against the fraction kept, f, is modelled as

    loss(f) = a (f^-b - 1),      a >= 0, b > 0,

zero at f = 1 and rising as less is kept, fast if b is large. For each b of a grid the best a has a closed form; the
pair with the smallest squared error is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["LossCurve", "fit"]

EXPONENTS = np.geomspace(0.1, 4.0, 40)


@dataclass(frozen=True)
class LossCurve:
    """loss(f) = a (f^-b - 1)."""

    a: float
    b: float

    def loss(self, fraction: float) -> float:
        """Predicted loss at a fraction."""
        return float(self.a * (fraction**-self.b - 1))

    def fraction(self, loss: float) -> float:
        """The fraction at which the curve reaches a loss; 0 if it never does, 1 if it is already there."""
        if loss <= 0:
            return 1.0
        if self.a <= 0:
            return 0.0
        return float((1 + loss / self.a) ** (-1 / self.b))


def fit(fractions: Sequence[float], losses: Sequence[float]) -> LossCurve:
    """Fit the curve by least squares; with a single point b = 1, since one point does not show the shape."""
    f, y = np.asarray(fractions, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    best = LossCurve(0.0, 1.0)
    least = np.inf
    for b in EXPONENTS if f.size > 1 else np.ones(1):
        shape = f**-b - 1
        a = max(0.0, float(shape @ y / max(shape @ shape, 1e-300)))
        error = float(np.square(y - a * shape).sum())
        if error < least:
            best, least = LossCurve(a, float(b)), error
    return best
