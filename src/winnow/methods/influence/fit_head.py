"""Training a regularised linear head to its optimum: L-BFGS to come near, Newton steps to arrive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import softmax

from ...core import checks
from ...core.errors import InputError
from .curvature import curvature
from .heads import LOSSES, Floats, Head, damping_of, spans

__all__ = ["FittedHead", "fit_head", "fitted"]

OWNER = "influence.fit_head"
NEAR, ARRIVED, POLISH = 1e-5, 1e-10, 12  # lengths of the gradient, and Newton steps at most


@dataclass(frozen=True, eq=False)
class FittedHead:
    """A head at its optimum.

    Attributes
    ----------
    theta
        q x K.
    outputs
        n x K, probabilities or predictions: what `vectors` takes as probs.
    gradient
        Length of the gradient that is left.
    """

    theta: Floats
    outputs: Floats
    gradient: float


def fit_head(
    features: ArrayLike,
    labels: ArrayLike,
    damping: float,
    *,
    loss: str = "softmax",
    classes: int | None = None,
    start: ArrayLike | None = None,
) -> FittedHead:
    """Minimise mean loss + damping / 2 |theta|^2 over linear heads.

    Parameters
    ----------
    features
        n x q, as given; add a column of ones for a bias.
    labels
        Classes, or targets for `loss="squared"`.
    damping
        The regulariser; above 0 for softmax.
    loss
        `softmax` or `squared`.
    classes
        How many there are, if not as many as the labels show.
    start
        A head, q x K, to begin with.
    """
    kind = checks.choice("loss", OWNER, loss, LOSSES)
    rows = checks.array("features", OWNER, features, ndim=2, dtype=np.float64)
    strength = damping_of(OWNER, damping, kind)
    n, q = rows.shape
    if kind == "softmax":
        given = checks.array("labels", OWNER, labels, ndim=1, rows=n)
        if given.dtype.kind not in "iu" or given.min() < 0:
            raise InputError(
                f"labels of {OWNER} must be class numbers of at least 0; got {given.min()} ({given.dtype})."
            )
        least = max(2, int(given.max()) + 1)
        outputs = least if classes is None else checks.integer("classes", OWNER, classes, low=least)
        given = given.astype(np.int64)
    else:
        given = checks.array("labels", OWNER, labels, ndim=(1, 2), rows=n, dtype=np.float64).reshape(n, -1)
        outputs = given.shape[1]
    first = np.zeros((q, outputs))
    if start is not None:
        first = checks.array("start", OWNER, start, ndim=2, dtype=np.float64)
        if first.shape != (q, outputs):
            raise InputError(f"start of {OWNER} must have shape {(q, outputs)}; got {first.shape}.")
    return fitted(rows, given, strength, kind, first)


def fitted(rows: Floats, labels: np.ndarray, damping: float, loss: str, first: Floats) -> FittedHead:
    """`fit_head` for what has been checked."""
    theta = first
    if loss == "softmax":
        theta = _approached(rows, labels, damping, theta)
    length = np.inf
    for _ in range(POLISH):
        outputs = rows @ theta
        if loss == "softmax":
            outputs = softmax(outputs, axis=-1)
        head = Head(rows, outputs, labels, damping, loss)
        slope = head.mean_gradient + damping * theta
        before, length = length, float(np.linalg.norm(slope))
        if length <= ARRIVED or length >= before / 2:  # arrived, or as near as rounding allows
            break
        theta = theta - curvature(head, owner=OWNER).solve(slope.reshape(1, -1)).reshape(theta.shape)
    return FittedHead(theta, outputs, length)


def _approached(rows: Floats, labels: np.ndarray, damping: float, first: Floats) -> Floats:
    """Where the gradient is short, so that full Newton steps converge."""
    n, shape = len(rows), first.shape

    def loss_and_slope(flat: Floats) -> tuple[float, Floats]:
        theta, total, slope = flat.reshape(shape), 0.0, np.zeros(shape)
        for part in spans(n, sum(shape)):
            scores = rows[part] @ theta
            scores -= scores.max(axis=1, keepdims=True)
            at = np.arange(len(scores)), labels[part]
            total -= float(scores[at].sum())
            np.exp(scores, out=scores)
            sums = scores.sum(axis=1, keepdims=True)
            total += float(np.log(sums).sum())
            scores /= sums
            scores[at] -= 1.0
            slope += rows[part].T @ scores
        return total / n + damping / 2 * float(flat @ flat), (slope / n + damping * theta).reshape(-1)

    options = {"maxiter": 5000, "maxfun": 10_000, "gtol": NEAR, "ftol": 0.0, "maxcor": 20}
    found = minimize(loss_and_slope, first.reshape(-1), jac=True, method="L-BFGS-B", options=options)
    if not np.isfinite(found.fun):
        raise InputError(f"features of {OWNER} are too large to fit a head to; scale them first.")
    return np.asarray(found.x).reshape(shape)
