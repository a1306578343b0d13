"""LiSSA, the stochastic inverse Hessian that the paper used, for comparison with the exact one.

    v_0 = g,    v_{t+1} = g + v_t - (H_t + damping I) v_t / scale,    H^-1 g = v_depth / scale

H_t is the Hessian of a few examples drawn at step t; the result is the mean over several repeats. It converges if scale
is above the largest eigenvalue of every H_t, in about scale / (smallest eigenvalue) steps: for softmax that eigenvalue
is the damping, so a small damping takes many steps. All right-hand sides share the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import checks
from ...core.seeds import stream
from .curvature import MatrixFree
from .heads import Floats, Head, spans

__all__ = ["Lissa"]


@dataclass(frozen=True)
class Lissa:
    """Settings of the recursion.

    Parameters
    ----------
    depth
        The number of steps; None takes 10 times scale / damping, at most 20,000.
    scale
        None takes the largest |x|^2 / 2 + damping of any example, which no Hessian of softmax exceeds (|x|^2 for
        least squares).
    repeats
        The number of runs to average.
    batch
        Examples drawn per step.
    seed
        Seed of the draws.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> from winnow.methods.influence import vectors
    >>> x = [[1.0], [1.0], [1.0], [1.0]]
    >>> vectors(x, [1.5] * 4, [0.0, 1.0, 2.0, 3.0], 0.1, loss="squared", solver=Lissa(depth=100)).values.shape
    (4, 1)
    """

    depth: int | None = None
    scale: float | None = None
    repeats: int = 1
    batch: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.depth is not None:
            checks.integer("depth", "Lissa", self.depth, low=1)
        if self.scale is not None:
            checks.number("scale", "Lissa", self.scale, low=0.0, open_low=True)
        checks.integer("repeats", "Lissa", self.repeats, low=1)
        checks.integer("batch", "Lissa", self.batch, low=1)
        checks.integer("seed", "Lissa", self.seed, low=0)

    def over(self, head: Head) -> _Recursion:
        """Return a solver for the Hessian of a head, as accurate as the recursion is."""
        return _Recursion(self, head)


class _Recursion:
    """The recursion over one head."""

    def __init__(self, settings: Lissa, head: Head) -> None:
        self._settings, self._head = settings, head
        longest = max(
            float(np.square(np.asarray(head.features[part], dtype=np.float64)).sum(axis=1).max())
            for part in spans(head.n, head.shape[0])
        )
        bound = longest / 2 if head.loss == "softmax" else longest
        self.scale = bound + head.damping if settings.scale is None else settings.scale
        slowest = head.damping if head.damping > 0 else self.scale / 1000
        self.depth = min(20_000, int(np.ceil(10 * self.scale / slowest))) if settings.depth is None else settings.depth

    def product(self, rows: Floats) -> Floats:
        """H applied to each row, over all examples."""
        return MatrixFree(self._head, None, self._head.n).product(rows)

    def solve(self, rows: Floats) -> Floats:
        """H^-1 applied to each row, approximately."""
        total = np.zeros_like(rows)
        for repeat in range(self._settings.repeats):
            draws = stream(self._settings.seed, "lissa", repeat)
            found = rows.copy()
            for _ in range(self.depth):
                some = draws.integers(0, self._head.n, size=self._settings.batch)
                found += rows - self._image(some, found)
            total += found
        return np.asarray(total / (self._settings.repeats * self.scale))

    def _image(self, some: np.ndarray, rows: Floats) -> Floats:
        """(Hessian of some examples + damping) / scale, applied to each row."""
        head, (q, outputs) = self._head, self._head.shape
        x = np.asarray(head.features[some], dtype=np.float64)
        moved = np.einsum("iq,bqk->bik", x, rows.reshape(-1, q, outputs), optimize=True)
        if head.loss == "softmax":
            probs = np.asarray(head.outputs[some], dtype=np.float64)
            moved *= probs
            moved -= probs * moved.sum(axis=2, keepdims=True)
        back = np.einsum("iq,bik->bqk", x, moved, optimize=True).reshape(len(rows), -1) / some.size
        return np.asarray((back + head.damping * rows) / self.scale)
