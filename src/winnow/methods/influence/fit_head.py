"""Train a regularised linear head to its optimum: L-BFGS to get close, then Newton steps."""

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
NEAR, ARRIVED, POLISH = 1e-5, 1e-10, 12  # gradient norms to get close and to stop, and maximum number of Newton steps


@dataclass(frozen=True, eq=False)
class FittedHead:
    """A head at its optimum.

    Attributes
    ----------
    theta
        q x K.
    outputs
        n x K, probabilities or predictions: the `probs` of `vectors`.
    gradient
        Norm of the remaining gradient.
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
    weights: ArrayLike | None = None,
) -> FittedHead:
    """Train a linear head: minimise mean loss + damping / 2 |theta|^2.

    Parameters
    ----------
    features
        n x q, as given; add a column of ones for a bias.
    labels
        Class numbers, or targets for `loss="squared"`.
    damping
        The regulariser; above 0 for softmax.
    loss
        `softmax` or `squared`.
    classes
        The number of classes, if it is larger than the labels show.
    start
        An initial head, q x K.
    weights
        One weight per example, above 0: the mean loss is then the weighted one. All equal if not given.

    Returns
    -------
    FittedHead
        The head, its outputs on the examples, and the remaining gradient.

    Raises
    ------
    InputError
        If an argument is out of range, or the features are too large to fit.

    Examples
    --------
    >>> head = fit_head([[1.0], [1.0]], [0.0, 1.0], damping=0.0, loss="squared")
    >>> head.theta.round(6).tolist()
    [[0.5]]
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
    shares = None if weights is None else checks.weights(OWNER, weights, n)
    return fitted(rows, given, strength, kind, first, shares)


def fitted(
    rows: Floats,
    labels: np.ndarray,
    damping: float,
    loss: str,
    first: Floats,
    weights: Floats | None = None,
    arrived: float = ARRIVED,
) -> FittedHead:
    """`fit_head` without checks."""
    theta = first
    share = None if weights is None else (weights * (len(rows) / weights.sum()))[:, None]
    # (diag p - p p^T) (x) w x x^T: weighing examples in the Hessian is scaling their features
    wide = rows if share is None else rows * np.sqrt(share)
    if loss == "softmax":
        theta = _approached(rows, labels, damping, theta, share)
    length = np.inf
    for _ in range(POLISH):
        outputs = rows @ theta
        if loss == "softmax":
            outputs = softmax(outputs, axis=-1)
        head = Head(wide, outputs, labels, damping, loss)
        mean = head.mean_gradient if share is None else rows.T @ (share * head.errors(slice(None))) / len(rows)
        slope = mean + damping * theta
        before, length = length, float(np.linalg.norm(slope))
        if length <= arrived or length >= before / 2:  # converged, or as close as rounding allows
            break
        theta = theta - curvature(head, owner=OWNER).solve(slope.reshape(1, -1)).reshape(theta.shape)
    return FittedHead(theta, outputs, length)


def _approached(rows: Floats, labels: np.ndarray, damping: float, first: Floats, share: Floats | None) -> Floats:
    """Go to where the gradient is small enough for full Newton steps to converge."""
    n, shape = len(rows), first.shape

    def loss_and_slope(flat: Floats) -> tuple[float, Floats]:
        theta, total, slope = flat.reshape(shape), 0.0, np.zeros(shape)
        for part in spans(n, sum(shape)):
            scores = rows[part] @ theta
            scores -= scores.max(axis=1, keepdims=True)
            at = np.arange(len(scores)), labels[part]
            each = -scores[at]
            np.exp(scores, out=scores)
            sums = scores.sum(axis=1, keepdims=True)
            each += np.log(sums[:, 0])
            scores /= sums
            scores[at] -= 1.0
            if share is not None:
                each *= share[part, 0]
                scores *= share[part]
            total += float(each.sum())
            slope += rows[part].T @ scores
        return total / n + damping / 2 * float(flat @ flat), (slope / n + damping * theta).reshape(-1)

    options = {"maxiter": 5000, "maxfun": 10_000, "gtol": NEAR, "ftol": 0.0, "maxcor": 20}
    found = minimize(loss_and_slope, first.reshape(-1), jac=True, method="L-BFGS-B", options=options)
    if not np.isfinite(found.fun):
        raise InputError(f"features of {OWNER} are too large to fit a head to; scale them first.")
    return np.asarray(found.x).reshape(shape)
