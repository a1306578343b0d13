"""The damped Hessian of a head over all examples or over some of them, and how to solve with it.

    softmax    H = (1 / N) sum (diag p - p p^T) (x) x x^T + damping I
    squared    H = (1 / N) sum x x^T (x) I + damping I, so that one q x q matrix serves every output

`Dense` factorises it once (Cholesky). `MatrixFree` never holds it: it uses conjugate gradients with the diagonal as
preconditioner, for many right-hand sides at a time. With p parameters, N examples and r right-hand sides the first
takes about N p^2 / 2 + p^3 / 6 + r p^2 multiplications, the second 2 r N p for each step. So few right-hand sides are
solved without the matrix, and as many as there are examples with it.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from ...core.errors import InputError
from ...core.seeds import stream
from .heads import NUMBERS, Floats, Head, Positions, spans

__all__ = ["DIRECT", "Curvature", "Dense", "MatrixFree", "curvature", "largest_dense", "smallest_ratio"]

DIRECT = 4096  # up to this many parameters the Hessian is held and factorised, whatever the operations: 400 MB
MEMORY = 2 << 30  # bytes that the Hessian, its factor and a copy may take
STEPS = 100  # of conjugate gradients, in forecasts
TOLERANCE = 1e-9  # of conjugate gradients, relative to the right-hand side
MOST = 2000  # steps of conjugate gradients


class Curvature(Protocol):
    """A positive definite matrix over theta."""

    def solve(self, rows: Floats) -> Floats:
        """H^-1 applied to each row (any number x p)."""

    def product(self, rows: Floats) -> Floats:
        """H applied to each row."""


class Dense:
    """The matrix itself and its Cholesky factor; `copies` outputs share it if all have the same."""

    def __init__(self, matrix: Floats, copies: int, owner: str) -> None:
        self.matrix, self.copies = matrix, copies
        try:
            self._factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            raise InputError(
                f"damping of {owner} must be larger: the Hessian is singular or not finite at the given damping."
            ) from None
        if not np.isfinite(self._factor[0]).all() or _nearly_singular(self._factor[0]):
            raise InputError(
                f"damping of {owner} must be larger: the Hessian is singular to rounding at the given damping."
            )

    def solve(self, rows: Floats) -> Floats:
        """H^-1 applied to each row."""
        out = linalg.cho_solve(self._factor, self._wide(rows).T, check_finite=False).T
        return self._narrow(out, len(rows))

    def product(self, rows: Floats) -> Floats:
        """H applied to each row."""
        return self._narrow(self._wide(rows) @ self.matrix, len(rows))

    def rooted(self, rows: Floats) -> Floats:
        """Rows R whose inner products are those of the given rows through H: R R^T = rows H rows^T."""
        return self._narrow(self._wide(rows) @ np.tril(self._factor[0]), len(rows))

    def _wide(self, rows: Floats) -> Floats:
        """Reshape to rows over the features of one output, where outputs share the matrix."""
        if self.copies == 1:
            return rows
        return rows.reshape(len(rows), -1, self.copies).swapaxes(1, 2).reshape(len(rows) * self.copies, -1)

    def _narrow(self, rows: Floats, n: int) -> Floats:
        if self.copies == 1:
            return np.ascontiguousarray(rows)
        return rows.reshape(n, self.copies, -1).swapaxes(1, 2).reshape(n, -1)


class MatrixFree:
    """Products with the Hessian of some examples, and conjugate gradients."""

    def __init__(
        self, head: Head, rows: Positions | None, divisor: float, change: Floats | None = None, owner: str = "influence"
    ) -> None:
        self._head, self._rows, self._divisor, self._change, self._owner = head, rows, divisor, change, owner
        diagonal = np.zeros(head.shape)
        for x, outputs in _pieces(head, rows, change):
            width = outputs * (1 - outputs) if head.loss == "softmax" else np.ones_like(outputs)
            diagonal += np.square(x).T @ width
        self._diagonal = (diagonal / divisor + head.damping).reshape(-1)
        if (self._diagonal <= 0).any():
            raise InputError(f"damping of {owner} must be larger: the Hessian is singular at the given damping.")

    def product(self, rows: Floats) -> Floats:
        """H applied to each row."""
        head = self._head
        (q, outputs), many = head.shape, len(rows)
        given = rows.reshape(many, q, outputs).swapaxes(0, 1).reshape(q, many * outputs)
        total = np.zeros_like(given)
        for x, probs in _pieces(head, self._rows, self._change, many * outputs):
            moved = (x @ given).reshape(len(x), many, outputs)
            if head.loss == "softmax":
                moved *= probs[:, None, :]
                moved -= probs[:, None, :] * moved.sum(axis=2, keepdims=True)
            total += x.T @ moved.reshape(len(x), -1)
        back = total.reshape(q, many, outputs).swapaxes(0, 1).reshape(many, -1)
        return np.asarray(back / self._divisor + head.damping * rows)

    def solve(self, rows: Floats) -> Floats:
        """H^-1 applied to each row, a block of rows at a time."""
        step = max(1, NUMBERS // rows.shape[1])
        return np.concatenate([self._conjugate(rows[at : at + step]) for at in range(0, len(rows), step)])

    def _conjugate(self, wanted: Floats) -> Floats:
        found, left = np.zeros_like(wanted), wanted.copy()
        goal = TOLERANCE * np.sqrt(np.square(wanted).sum(axis=1))
        near = left / self._diagonal
        along, inner = near.copy(), (left * near).sum(axis=1)
        for _ in range(MOST):
            if (np.sqrt(np.square(left).sum(axis=1)) <= goal).all():
                return found
            image = self.product(along)
            length = inner / np.maximum((along * image).sum(axis=1), np.finfo(np.float64).tiny)
            found += length[:, None] * along
            left -= length[:, None] * image
            near = left / self._diagonal
            before, inner = inner, (left * near).sum(axis=1)
            along *= (inner / np.maximum(before, np.finfo(np.float64).tiny))[:, None]
            along += near
        raise InputError(
            f"damping of {self._owner} must be larger: conjugate gradients did not converge within {MOST} steps."
        )


def curvature(
    head: Head,
    rows: Positions | None = None,
    divisor: float | None = None,
    change: Floats | None = None,
    *,
    right_sides: int = 1,
    solver: str = "auto",
    owner: str = "influence",
) -> Dense | MatrixFree:
    """Return the Hessian over some examples or all.

    Parameters
    ----------
    head
        The head.
    rows
        Positions of the examples; None means all.
    divisor
        N in the formulas of this module; None means the number of these examples.
    change
        q x K: how far theta has moved from the optimum.
    right_sides
        How many vectors it will be solved for.
    solver
        `exact`, `cg`, or `auto`: exact up to `DIRECT` parameters, and above where that takes fewer operations and the
        Hessian fits in `MEMORY`.
    owner
        The calling function, named in the error for a singular matrix.
    """
    many = float(head.n if rows is None else rows.size) if divisor is None else float(divisor)
    q, outputs = head.shape
    order = head.parameters if head.loss == "softmax" else q
    examples = head.n if rows is None else rows.size
    if solver == "cg" or (solver == "auto" and not _exact_pays(head, order, examples, right_sides)):
        return MatrixFree(head, rows, many, change, owner)
    if head.loss == "squared":
        matrix = np.zeros((q, q))
        for x, _ in _pieces(head, rows, change):
            matrix += x.T @ x
    else:
        matrix = _softmax_hessian(head, rows, change)
    matrix /= many
    matrix[np.diag_indices_from(matrix)] += head.damping
    return Dense(matrix, 1 if head.loss == "softmax" else outputs, owner)


def largest_dense() -> int:
    """How many parameters a Hessian that is held may have."""
    return max(DIRECT, math.isqrt(MEMORY // 24))


def _exact_pays(head: Head, order: int, examples: int, right_sides: int) -> bool:
    """Whether to hold and factorise a Hessian of this order, by the operations and the memory it takes."""
    if order <= DIRECT:
        return True
    copies = head.parameters // order  # outputs that share the matrix
    held = examples * order**2 / 2 + order**3 / 6 + right_sides * copies * order**2
    return order <= largest_dense() and held <= 2.0 * STEPS * right_sides * examples * head.parameters


def smallest_ratio(kept: Dense | MatrixFree, full: Dense | MatrixFree, parameters: int) -> float:
    """The smallest eigenvalue of full^-1 kept: the share of curvature left in the direction that lost most."""
    if isinstance(kept, Dense) and isinstance(full, Dense):
        found = linalg.eigh(kept.matrix, full.matrix, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)
        return float(found[0])

    def operator(apply) -> LinearOperator:  # type: ignore[no-untyped-def]
        return LinearOperator((parameters, parameters), matvec=lambda v: apply(np.reshape(v, (1, -1)))[0], dtype=float)

    # the largest eigenvalue of kept^-1 full is well separated from the others; the smallest one above is not
    start = stream(0, "influence curvature").normal(size=parameters)
    largest = eigsh(
        operator(full.product), k=1, M=operator(kept.product), Minv=operator(kept.solve), which="LM", v0=start,
        tol=1e-3, return_eigenvectors=False,
    )  # fmt: skip
    return float(1.0 / largest[0])


def _pieces(head: Head, rows: Positions | None, change: Floats | None, width: int = 0):  # type: ignore[no-untyped-def]
    """Features and outputs of the examples, block by block."""
    for part in spans(head.n if rows is None else rows.size, sum(head.shape) + width):
        some = part if rows is None else rows[part]
        outputs = np.asarray(head.outputs[some], dtype=np.float64) if change is None else head.moved(some, change)
        yield np.asarray(head.features[some], dtype=np.float64), outputs


def _softmax_hessian(head: Head, rows: Positions | None, change: Floats | None) -> Floats:
    """The sum of (diag p - p p^T) (x) x x^T."""
    q, classes = head.shape
    total = np.zeros((q, classes, q, classes))
    for x, probs in _pieces(head, rows, change):
        for k in range(classes):
            weighted = probs[:, k, None] * x
            for other in range(k, classes):
                block = weighted.T @ ((float(k == other) - probs[:, other, None]) * x)
                total[:, k, :, other] += block
                if other != k:
                    total[:, other, :, k] += block.T
    return total.reshape(head.parameters, head.parameters)


def _nearly_singular(factor: NDArray[np.float64]) -> bool:
    """Whether the smallest pivot is rounding relative to the largest."""
    pivots = np.square(np.diagonal(factor))
    return bool(pivots.min() <= 1e-14 * pivots.max())
