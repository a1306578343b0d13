"""Influence vectors: how leaving an example out moves the head.

    s_i = (1 / n) H^-1 (grad L_i + damping theta),    H = mean Hessian + damping I

Removing the examples D moves theta by about n / (n - m) sum_D s_i. That is for retraining with the mean over what is
left and the same damping, the convention `1/(n-m)`. The paper prints s_i without damping theta, which is right for the
convention `1/n`: the sum over what is left divided by n still, so that the regulariser weighs more; then the factor
n / (n - m) falls away. At the optimum damping theta is minus the mean gradient, so centring the gradients does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from ...core.progress import task
from .curvature import Curvature, curvature
from .heads import CONVENTIONS, Floats, Head, checked_head, spans
from .lissa import Lissa

__all__ = ["DTYPES", "SOLVERS", "Influence", "loss_influence", "vectors", "vectors_of"]

SOLVERS = ("auto", "exact", "cg", "lissa")
DTYPES = ("float32", "float64")
Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Influence(NDArrayOperatorsMixin):
    """Influence vectors, one row an example, and the head they came from.

    It can be used as the array of its rows: `np.asarray(vectors)`, `vectors[i]`, `vectors.sum(axis=0)`. The head is
    what certificates need beyond the rows.

    Parameters
    ----------
    values
        n x parameters; the column f K + k belongs to feature f and output k.
    head
        Features, outputs, labels and damping.
    convention
        How retraining divides: `1/(n-m)` or `1/n`.
    solver
        How the Hessian was inverted.
    """

    values: Array
    head: Head
    convention: str
    solver: str

    def __repr__(self) -> str:
        n, p = self.values.shape
        return f"Influence({n} examples x {p} parameters, {self.head.loss}, damping {self.head.damping:g})"

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if dtype is not None and np.dtype(dtype) != self.values.dtype:
            return self.values.astype(dtype)
        return self.values.copy() if copy else np.asarray(self.values)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [item.values if isinstance(item, Influence) else item for item in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "values":  # while it is being copied there are no rows to ask yet
            raise AttributeError(name)
        return getattr(self.values, name)

    @property
    def norms(self) -> Floats:
        """The length of each row."""
        out = np.empty(len(self.values))
        for part in spans(len(out), self.values.shape[1]):
            out[part] = np.sqrt(np.square(self.values[part], dtype=np.float64).sum(axis=1))
        return out


def vectors(
    features: ArrayLike,
    probs: ArrayLike,
    labels: ArrayLike,
    damping: float,
    *,
    loss: str = "softmax",
    convention: str = "1/(n-m)",
    solver: str | Lissa = "auto",
    dtype: str = "float64",
    out: Array | None = None,
) -> Influence:
    """How leaving out each example moves a linear head on fixed features.

    Parameters
    ----------
    features
        n x q, as given: add your own column of ones for a bias, which is then regularised as the rest is.
    probs
        n x K probabilities by the trained head; for `loss="squared"` its predictions.
    labels
        The classes; for `loss="squared"` the targets, n or n x K.
    damping
        lam of the training of the head, mean loss + lam / 2 |theta|^2. Above 0 for softmax.
    loss
        `softmax`, or `squared` for |x theta - y|^2 / 2.
    convention
        How retraining divides the loss of what is left: `1/(n-m)`, its mean, or `1/n`.
    solver
        `exact` by Cholesky; `cg`, conjugate gradients that never hold the Hessian; `auto`, exact up to 4,096
        parameters. `lissa`, or a `Lissa` with its settings, is what the paper used, for comparison: slow and noisy.
    dtype
        `float64` or `float32`, of the rows; the computation is in float64.
    out
        An array to fill, n x q K of either dtype, such as a memory map where the rows are too many to hold.

    Notes
    -----
    The outputs must be those of the head at its optimum (`fit_head` makes one): certificates say where they are not.

    Examples
    --------
    >>> x = [[1.0], [1.0], [1.0], [1.0]]
    >>> vectors(x, [1.5] * 4, [0.0, 1.0, 2.0, 3.0], 0.0, loss="squared").values.ravel().tolist()
    [0.375, 0.125, -0.125, -0.375]
    """
    head = checked_head("influence.vectors", features, probs, labels, damping, loss)
    return vectors_of(head, convention, solver, dtype, out)


def vectors_of(
    head: Head,
    convention: str = "1/(n-m)",
    solver: str | Lissa = "auto",
    dtype: str = "float64",
    out: Array | None = None,
) -> Influence:
    """`vectors` for a head that has been checked."""
    owner = "influence.vectors"
    checks.choice("convention", owner, convention, CONVENTIONS)
    checks.choice("dtype", owner, dtype, DTYPES)
    name = solver if not isinstance(solver, Lissa) else "lissa"
    checks.choice("solver", owner, name, SOLVERS)
    filled = _target(owner, head, dtype, out)
    if name == "lissa":
        inverse: Curvature = (solver if isinstance(solver, Lissa) else Lissa()).over(head)
    else:
        inverse = curvature(head, solver=name, owner=owner)
    centre = head.mean_gradient.reshape(1, -1) if convention == "1/(n-m)" else 0.0
    with task("influence vectors", head.n) as advance:
        for part in spans(head.n, head.parameters):
            filled[part] = inverse.solve(head.gradients(part) - centre) / head.n
            advance(part.stop - part.start)
    if not np.isfinite(filled[-1]).all():
        raise InputError(f"features of {owner} are too large or damping too small: the vectors are not finite.")
    return Influence(filled, head, convention, name)


def loss_influence(influence: Influence, features: ArrayLike, probs: ArrayLike, labels: ArrayLike) -> Floats:
    """How leaving out each example changes the mean loss on other examples, to first order.

    Eq. 5 of the paper with the factor n / (n - 1): the mean gradient of the other examples times s_i. Positive where
    the loss would rise, so where the example helps.

    Parameters
    ----------
    influence
        From `vectors`.
    features, probs, labels
        Of the other examples, such as a validation set: as `vectors` takes them.
    """
    owner = "influence.loss_influence"
    if not isinstance(influence, Influence):
        raise InputError(f"influence of {owner} must come from influence.vectors; got {type(influence).__name__}.")
    head = influence.head
    other = checked_head(owner, features, probs, labels, head.damping, head.loss)
    if other.shape != head.shape:
        raise InputError(
            f"features and probs of {owner} must have the {head.shape[0]} and {head.shape[1]} columns of the vectors' "
            f"head; got {other.shape[0]} and {other.shape[1]}."
        )
    factor = head.n / (head.n - 1) if influence.convention == "1/(n-m)" else 1.0
    slope = other.mean_gradient.reshape(-1) * factor
    out = np.empty(head.n)
    for part in spans(head.n, head.parameters):
        out[part] = influence.values[part].astype(np.float64) @ slope
    return out


def _target(owner: str, head: Head, dtype: str, out: Array | None) -> Array:
    shape = (head.n, head.parameters)
    if out is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.name not in DTYPES or not out.flags.writeable:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out of {owner} must be a writeable float32 or float64 array of shape {shape}; got {got}.")
    return out
