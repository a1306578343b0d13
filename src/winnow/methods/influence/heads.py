"""A linear head on fixed features: the data that vectors and certificates are computed from.

The head is theta (q x K), trained by mean L_i + damping / 2 |theta|^2 with

    softmax    L_i = -log softmax(x_i theta)[y_i]      outputs are probabilities, labels are classes
    squared    L_i = |x_i theta - y_i|^2 / 2           outputs are predictions, labels are targets

The gradient of L_i is x_i (outer) e_i, with e_i the outputs minus the labels. Parameters are numbered feature by
feature: number f K + k belongs to feature f and output k. At the optimum the mean gradient is -damping theta, so theta
itself is not needed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from ...core import checks
from ...core.errors import InputError

__all__ = ["CONVENTIONS", "LOSSES", "Head", "checked_head", "spans"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

LOSSES = ("softmax", "squared")
CONVENTIONS = ("1/(n-m)", "1/n")
NUMBERS = 1 << 22  # float64 numbers of one block of rows
ROUNDING = 1e-3  # how far the sum of a row of probabilities may differ from 1


def spans(n: int, width: int) -> Iterator[slice]:
    """Yield blocks of rows with about `NUMBERS` numbers each, if a row has `width`."""
    step = max(1, NUMBERS // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


@dataclass(frozen=True, eq=False)
class Head:
    """A head at its optimum, given by the examples it was trained on.

    Parameters
    ----------
    features
        n x q.
    outputs
        n x K, probabilities or predictions.
    labels
        Classes, or n x K targets.
    damping
        The regulariser of the head's training.
    loss
        `softmax` or `squared`.
    """

    features: NDArray[Any]
    outputs: NDArray[Any]
    labels: NDArray[Any]
    damping: float
    loss: str

    @property
    def n(self) -> int:
        """The number of examples."""
        return int(self.features.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Features and outputs: q, K."""
        return int(self.features.shape[1]), int(self.outputs.shape[1])

    @property
    def parameters(self) -> int:
        """The number of parameters in theta."""
        return self.shape[0] * self.shape[1]

    def errors(self, rows: slice | Positions, outputs: Floats | None = None) -> Floats:
        """Outputs minus labels of some examples; for other outputs if given."""
        found = np.array(self.outputs[rows] if outputs is None else outputs, dtype=np.float64)
        if self.loss == "softmax":
            found[np.arange(len(found)), self.labels[rows]] -= 1.0
        else:
            found -= self.labels[rows]
        return found

    def gradients(self, rows: slice | Positions) -> Floats:
        """Gradients of the examples' losses, one row each."""
        features = np.asarray(self.features[rows], dtype=np.float64)
        return (features[:, :, None] * self.errors(rows)[:, None, :]).reshape(len(features), -1)

    def moved(self, rows: slice | Positions, change: Floats) -> Floats:
        """Outputs of some examples after theta has moved by `change` (q x K)."""
        step = np.asarray(self.features[rows], dtype=np.float64) @ change
        now = np.asarray(self.outputs[rows], dtype=np.float64)
        if self.loss == "squared":
            return np.asarray(now + step)
        return np.asarray(softmax(np.log(np.maximum(now, np.finfo(np.float64).tiny)) + step, axis=-1))

    def total_gradient(self, rows: Positions | None = None, change: Floats | None = None) -> Floats:
        """Sum of the gradients (q x K) of some examples or all; at theta + `change` if given."""
        total = np.zeros(self.shape)
        for part in spans(self.n if rows is None else rows.size, sum(self.shape)):
            some = part if rows is None else rows[part]
            outputs = None if change is None else self.moved(some, change)
            total += np.asarray(self.features[some], dtype=np.float64).T @ self.errors(some, outputs)
        return total

    @cached_property
    def mean_gradient(self) -> Floats:
        """The mean of all gradients: -damping theta at the optimum."""
        return self.total_gradient() / self.n

    @cached_property
    def gap(self) -> float:
        """How far the outputs are from those of the head that the gradients imply; 0 at the optimum.

        At the optimum theta = -(mean gradient) / damping, so the outputs can be recomputed from the gradients. This is
        the root mean square difference, of probabilities or in standard deviations of the targets. NaN without damping.
        """
        if self.damping == 0:
            return float("nan")
        theta, total = -self.mean_gradient / self.damping, 0.0
        for part in spans(self.n, sum(self.shape)):
            again = np.asarray(self.features[part], dtype=np.float64) @ theta
            if self.loss == "softmax":
                again = softmax(again, axis=-1)
            total += float(np.square(again - self.outputs[part]).sum())
        unit = 1.0 if self.loss == "softmax" else float(np.std(self.labels)) or 1.0
        return float(np.sqrt(total / (self.n * self.shape[1])) / unit)


def checked_head(
    owner: str, features: ArrayLike, outputs: ArrayLike, labels: ArrayLike, damping: object, loss: object
) -> Head:
    """Check the user's arguments and make a head of them."""
    kind = checks.choice("loss", owner, loss, LOSSES)
    rows = _floats(checks.array("features", owner, features, ndim=2))
    n = rows.shape[0]
    if n < 2:
        raise InputError(f"features of {owner} must have at least two rows; got shape {rows.shape}.")
    if kind == "softmax":
        probs = _probabilities(owner, outputs, n)
        classes = checks.array("labels", owner, labels, ndim=1, rows=n)
        if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= probs.shape[1]:
            raise InputError(
                f"labels of {owner} must be class numbers from 0 to {probs.shape[1] - 1}, one for each column of "
                f"probs; got {classes.min()} to {classes.max()} ({classes.dtype})."
            )
        return Head(rows, probs, classes.astype(np.int64), damping_of(owner, damping, kind), kind)
    made = _floats(checks.array("probs", owner, outputs, ndim=(1, 2), rows=n)).reshape(n, -1)
    targets = _floats(checks.array("labels", owner, labels, ndim=(1, 2), rows=n)).reshape(n, -1)
    if made.shape != targets.shape:
        raise InputError(
            f"probs and labels of {owner} must have the same shape for loss='squared' (predictions and targets); got "
            f"{made.shape} and {targets.shape}."
        )
    return Head(rows, made, targets, damping_of(owner, damping, kind), kind)


def damping_of(owner: str, damping: object, loss: str) -> float:
    """Check the regulariser: above 0 for softmax, whose Hessian is singular without it."""
    value = checks.number("damping", owner, damping, low=0.0)
    if loss == "softmax" and value == 0:
        raise InputError(
            f"damping of {owner} must be above 0, because the Hessian of softmax is singular without it (adding a "
            "constant to all classes changes nothing); got 0."
        )
    return value


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    """Floats as they are; integers as float64."""
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _probabilities(owner: str, given: ArrayLike, n: int) -> NDArray[Any]:
    probs = _floats(checks.array("probs", owner, given, ndim=2, rows=n))
    if probs.shape[1] < 2:
        raise InputError(f"probs of {owner} must have at least two classes; got shape {probs.shape}.")
    sums = probs.sum(axis=1, dtype=np.float64)
    worst = int(np.abs(sums - 1).argmax())
    if probs.min() < 0 or abs(sums[worst] - 1) > ROUNDING:
        raise InputError(
            f"probs of {owner} must be probabilities, at least 0 and with sum 1 in each row; row {worst} sums to "
            f"{sums[worst]:g} and the smallest is {probs.min():g} (for least-squares predictions pass "
            "loss='squared')."
        )
    return probs
