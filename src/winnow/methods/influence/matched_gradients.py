"""What the weights of an exact head must match: per example, its gradient at one head or at several, whitened.

At a head theta that minimises mean L_i + damping / 2 |theta|^2, weights with sum n and

    sum w_i (grad_i - mean gradient) = 0

leave theta stationary, and so by convexity the optimum. At any other head the same condition says that the weighted
loss has there the slope of the mean loss. Rows are multiplied by the inverse Cholesky factor of the Hessian, so that
the squared length of sum w_i row_i / n is twice the loss that a change costs, and so that the conditions are about
equally large: solving with them loses no digits.

Errors of a softmax sum to 0 over the classes. They are written in K - 1 coordinates, which removes that dependency
exactly instead of by a tolerance.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.special import softmax

from ...core.seeds import uniforms
from .curvature import DIRECT, Dense, curvature
from .fit_head import FittedHead, fitted
from .heads import Floats, Head

__all__ = ["Anchor", "anchors", "gradient_rows"]

PRECISE = 1e-14  # remaining gradient at which a head counts as exact

Anchor = tuple[str, float, Floats]  # its name, its damping, theta


def anchors(
    head: Head, found: FittedHead, dampings: tuple[float, ...], heads: int, seed: int, ids: np.ndarray
) -> list[Anchor]:
    """The heads whose gradients are matched: the trained one, those of other dampings, and bootstrapped ones.

    A bootstrapped head is trained with a Poisson weight per example, drawn by the example's id.
    """
    rows = np.asarray(head.features, dtype=np.float64)

    def trained(damping: float, weights: Floats | None = None) -> Floats:
        kept = slice(None) if weights is None else weights > 0
        share = None if weights is None else weights[kept]
        return fitted(rows[kept], head.labels[kept], damping, head.loss, found.theta, share, PRECISE).theta

    made: list[Anchor] = [("trained", head.damping, found.theta)]
    made += [(f"damping {damping:g}", damping, trained(damping)) for damping in dampings]
    for number in range(heads):
        drawn = np.searchsorted(POISSON, uniforms(seed, ("head coreset", number), ids)).astype(np.float64)
        made.append((f"bootstrap {number + 1}", head.damping, trained(head.damping, drawn)))
    return made


POISSON = np.cumsum([np.exp(-1.0) / float(np.prod(np.arange(1, k + 1))) for k in range(12)])


def gradient_rows(head: Head, anchor: Anchor) -> Floats:
    """One row per example: its whitened gradient at the anchor, minus the mean."""
    _, damping, theta = anchor
    rows = np.asarray(head.features, dtype=np.float64)
    outputs = rows @ theta
    if head.loss == "softmax":
        outputs = softmax(outputs, axis=-1)
    here = Head(head.features, outputs, head.labels, damping, head.loss)
    errors = here.errors(slice(None))
    if head.loss == "squared":
        shared = rows.T @ rows / len(rows)
        shared[np.diag_indices_from(shared)] += damping
        made = _kronecker(rows @ _inverse_root(shared), errors)
    else:
        basis = linalg.helmert(theta.shape[1]).T  # K x (K - 1)
        errors = errors @ basis
        if here.parameters <= DIRECT:
            whole = curvature(here)
            assert isinstance(whole, Dense)
            q, classes = here.shape
            narrow = np.einsum("akbl,ki,lj->aibj", whole.matrix.reshape(q, classes, q, classes), basis, basis)
            made = _kronecker(rows, errors) @ _inverse_root(narrow.reshape(q * (classes - 1), -1))
        else:  # the Hessian as a product of one over features and one over classes: conditioning, not a metric
            spread = np.diag(outputs.mean(axis=0)) - outputs.T @ outputs / len(rows)
            features = rows.T @ rows / len(rows)
            features[np.diag_indices_from(features)] += damping
            made = _kronecker(rows @ _inverse_root(features), errors @ _inverse_root(basis.T @ spread @ basis))
    made -= made.mean(axis=0)
    return made


def _kronecker(rows: Floats, errors: Floats) -> Floats:
    return (rows[:, :, None] * errors[:, None, :]).reshape(len(rows), -1)


def _inverse_root(matrix: Floats) -> Floats:
    """R with R R^T = matrix^-1; directions without any extent become 0."""
    values, axes = linalg.eigh(matrix, check_finite=False)
    kept = values > 1e-13 * values[-1]
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]))
