"""Influence vectors: how removing an example changes the head.

    s_i = (1 / n) H^-1 (grad L_i + damping theta),    H = mean Hessian + damping I

Removing the examples D changes theta by about n / (n - m) sum_D s_i. That is for retraining with the mean over the kept
examples and the same damping, the convention `1/(n-m)`. The paper prints s_i without damping theta, which is right for
the convention `1/n`: the sum over the kept examples still divided by n, so that the regulariser weighs more. There the
factor n / (n - m) is absent. At the optimum damping theta is minus the mean gradient, so centring does it.
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
    """Influence vectors, one row per example, and the head they came from.

    It can be used as the array of its rows: `np.asarray(vectors)`, `vectors[i]`, `vectors.sum(axis=0)`. Certificates
    also need the head.

    Parameters
    ----------
    values
        n x parameters; the column f K + k belongs to feature f and output k.
    head
        Features, outputs, labels and damping.
    convention
        How retraining divides the loss: `1/(n-m)` or `1/n`.
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
        if name.startswith("__") or name == "values":  # during copying there are no rows yet
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
    """Compute how removing each example changes a linear head on fixed features.

    Parameters
    ----------
    features
        n x q, as given: add a column of ones for a bias, which is then regularised like the rest.
    probs
        n x K probabilities from the trained head; for `loss="squared"` its predictions.
    labels
        Class numbers; for `loss="squared"` the targets, n or n x K.
    damping
        lam of the training of the head, mean loss + lam / 2 |theta|^2. Above 0 for softmax.
    loss
        `softmax`, or `squared` for |x theta - y|^2 / 2.
    convention
        How retraining divides the loss of the kept examples: `1/(n-m)`, their mean, or `1/n`.
    solver
        `exact` by Cholesky; `cg`, conjugate gradients that never hold the Hessian; `auto`, the one that is expected to
        take fewer operations, exact only if the Hessian fits in 2 GB (9,459 parameters). `lissa`, or a `Lissa` with its
        settings, is what the paper used, for comparison: slow and noisy.
    dtype
        Precision of the rows, `float64` or `float32`; the computation is in float64.
    out
        An array to fill, n x q K of either dtype, such as a memory map if the rows do not fit in memory.

    Returns
    -------
    Influence
        One row per example, and the head.

    Raises
    ------
    InputError
        If the shapes do not match, an argument is out of range, or the Hessian is singular.

    Notes
    -----
    The outputs must be those of the head at its optimum (`fit_head` makes one); certificates say if they are not.

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
    """`vectors` for a head that was already checked."""
    owner = "influence.vectors"
    checks.choice("convention", owner, convention, CONVENTIONS)
    checks.choice("dtype", owner, dtype, DTYPES)
    name = solver if not isinstance(solver, Lissa) else "lissa"
    checks.choice("solver", owner, name, SOLVERS)
    filled = _target(owner, head, dtype, out)
    if name == "lissa":
        inverse: Curvature = (solver if isinstance(solver, Lissa) else Lissa()).over(head)
    else:
        inverse = curvature(head, right_sides=head.n, solver=name, owner=owner)
    centre = head.mean_gradient.reshape(1, -1) if convention == "1/(n-m)" else 0.0
    with task("influence vectors", head.n) as advance:
        for part in spans(head.n, head.parameters):
            filled[part] = inverse.solve(head.gradients(part) - centre) / head.n
            advance(part.stop - part.start)
    if not np.isfinite(filled[-1]).all():
        raise InputError(f"features of {owner} are too large or damping too small: the vectors are not finite.")
    return Influence(filled, head, convention, name)


def loss_influence(influence: Influence, features: ArrayLike, probs: ArrayLike, labels: ArrayLike) -> Floats:
    """Compute how removing each example changes the mean loss on other examples, to first order.

    Eq. 5 of the paper with the factor n / (n - 1): the mean gradient of the other examples times s_i. Positive if the
    loss would rise, that is, if the example helps.

    Parameters
    ----------
    influence
        From `vectors`.
    features, probs, labels
        The other examples, such as a validation set, as for `vectors`.

    Returns
    -------
    numpy.ndarray
        One number per example.

    Raises
    ------
    InputError
        If `influence` is not from `vectors`, or the shapes do not match its head.

    Examples
    --------
    >>> x = [[1.0], [1.0], [1.0], [1.0]]
    >>> found = vectors(x, [1.5] * 4, [0.0, 1.0, 2.0, 3.0], 0.0, loss="squared")
    >>> loss_influence(found, [[1.0], [1.0]], [1.5, 1.5], [3.0, 3.0]).round(3).tolist()  # the large targets help
    [-0.75, -0.25, 0.25, 0.75]

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
