"""A head on fixed features and its mistakes: which training examples taught them, checked by training again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from ..core.seeds import drawn_first
from ..methods.influence.curvature import curvature
from ..methods.influence.fit_head import fitted
from ..methods.influence.heads import Head, spans

__all__ = ["HeadMistakes"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeadMistakes:
    """A head at its optimum, and test examples.

    Parameters
    ----------
    rows, labels, ids
        Features, class numbers and ids of the training examples.
    others, truth
        Those of the test examples.
    theta, damping
        The head and its regulariser.
    """

    rows: Floats
    labels: Positions
    ids: NDArray[np.generic]
    others: Floats
    truth: Positions
    theta: Floats
    damping: float

    @classmethod
    def of(
        cls, rows: Floats, labels: Positions, ids: NDArray[np.generic], others: Floats, truth: Positions,
        classes: int, damping: float,
    ) -> HeadMistakes:  # fmt: skip
        """Train the head to its optimum."""
        theta = fitted(rows, labels, damping, "softmax", np.zeros((rows.shape[1], classes))).theta
        return cls(rows, labels, ids, others, truth, theta, damping)

    def losses(self, theta: Floats | None = None) -> Floats:
        """The loss on each test example."""
        z = log_softmax(self.others @ (self.theta if theta is None else theta), axis=1)
        return -np.asarray(z[np.arange(len(z)), self.truth])

    def influences(self, tests: Positions) -> Floats:
        """How removing each training example changes the loss on each of these test examples; tests x training."""
        outputs = softmax(self.rows @ self.theta, axis=1)
        head = Head(self.rows, outputs, self.labels, self.damping, "softmax")
        errors = softmax(self.others[tests] @ self.theta, axis=1)
        errors[np.arange(len(tests)), self.truth[tests]] -= 1.0
        slopes = (self.others[tests][:, :, None] * errors[:, None, :]).reshape(len(tests), -1)
        solved = curvature(head, right_sides=len(slopes)).solve(
            slopes
        )  # one solve per test example instead of one per training example
        out = np.empty((len(tests), head.n))
        centre = head.mean_gradient.reshape(1, -1)
        for part in spans(head.n, head.parameters):
            out[:, part] = solved @ (head.gradients(part) - centre).T / (head.n - 1)
        return out

    def without(self, removed: Positions, test: int) -> float:
        """The change of the loss on a test example after training without these training examples."""
        kept = np.delete(np.arange(len(self.rows)), removed)
        theta = fitted(self.rows[kept], self.labels[kept], self.damping, "softmax", self.theta).theta
        return float(self.losses(theta)[test] - self.losses()[test])

    def drawn(self, labels: Positions, stream: tuple[str | int, ...], seed: int) -> Positions:
        """Random training examples with these labels; the stream names the draw, which is keyed by the ids."""
        order = drawn_first(seed, ("why", *stream), self.ids)
        taken = []
        for label, count in zip(*np.unique(labels, return_counts=True), strict=True):
            taken.append(order[self.labels[order] == label][:count])
        return np.sort(np.concatenate(taken))
