"""Certificates: predict how removing a set of examples changes a head, and how far the predictions can be trusted.

With D removed and A kept, N = n - m or n depending on the convention, and g_i the gradients at the trained head:

    linear       |H^-1 b|,     b = sum_A of -g_i / N + mean of all g_i: for 1/(n-m) this is n / (n - m) |sum_D s_i|
    newton       |H_A^-1 b|,   with the Hessian of what is kept
    corrected    where further Newton steps on the kept examples converge: the head that retraining will find
    printed      |sum_D H^-1 g_i / n|, the paper's objective, which omits the regulariser
    curvature    the smallest eigenvalue of H^-1 H_A: the share of curvature left where most was lost
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError
from .curvature import Dense, MatrixFree, curvature, smallest_ratio
from .heads import Floats, Head, Positions, spans
from .vectors import Influence

__all__ = ["COVERS", "LEAST_CURVATURE", "certify", "head_change", "linear_change", "rows_of"]

LEAST_CURVATURE = 0.3  # below this, the linear prediction was off by a third or more
MOST_TRUSTED = 0.7  # the predictions were measured to hold up to this share removed
OFF_OPTIMUM = 1e-2  # root mean square difference of outputs
STEPS, SETTLED = 12, 1e-4  # maximum number of Newton steps, and the length of the last relative to the whole change
COVERS = (
    "The change is that of the regularised linear head on fixed features, retrained on the kept examples. A network "
    "retrained from scratch changes for other reasons too; this certificate does not cover that, so measure it."
)


def certify(vectors: Influence | ArrayLike, removed: ArrayLike) -> dict[str, Any]:
    """Predict what removing these examples does to the head.

    Parameters
    ----------
    vectors
        From `influence.vectors`. A plain array of rows gives only the linear prediction.
    removed
        Positions of the removed examples, chosen by any method.

    Returns
    -------
    certificate
        `linear`, `newton`, `corrected`, `printed` and `curvature` as defined in this module, None where a plain array
        does not determine them; `random`, the root mean square of `linear` over random removals of the same size; and
        `notes` where a prediction is less reliable.

    Raises
    ------
    InputError
        If `removed` is not a set of valid positions that leaves at least one example.

    Examples
    --------
    >>> certify([[1.0], [-1.0], [0.5], [-0.5]], removed=[0, 1])["linear"]
    0.0
    """
    owner = "influence.certify"
    rows = rows_of(owner, vectors)
    where = checks.array("removed", owner, removed, ndim=1)
    if (
        where.dtype.kind not in "iu"
        or where.min() < 0
        or where.max() >= len(rows)
        or np.unique(where).size < where.size
    ):
        raise InputError(
            f"removed of {owner} must be different positions from 0 to {len(rows) - 1}; got {where.size} from "
            f"{where.min()} to {where.max()} ({where.dtype})."
        )
    if where.size == len(rows):
        raise InputError(f"removed of {owner} must leave at least one example; got all {len(rows)}.")
    return certificate(vectors if isinstance(vectors, Influence) else rows, np.sort(where).astype(np.int64))


def rows_of(owner: str, vectors: Any) -> NDArray[Any]:
    """Return the rows of vectors, checked."""
    if isinstance(vectors, Influence):
        return vectors.values
    if isinstance(vectors, np.ndarray) and vectors.ndim == 2 and vectors.dtype.name in ("float32", "float64"):
        rows = vectors  # possibly a file larger than memory, so it is checked block by block
        if not all(np.isfinite(rows[part]).all() for part in spans(len(rows), rows.shape[1])):
            checks.finite("vectors", owner, rows)
    else:
        rows = checks.array("vectors", owner, vectors, ndim=2)
    if len(rows) < 2 or rows.shape[1] < 1:
        raise InputError(f"vectors of {owner} must have at least two rows and a column; got shape {rows.shape}.")
    return rows if rows.dtype.name in ("float32", "float64") else rows.astype(np.float64)


def certificate(
    vectors: Influence | NDArray[Any],
    removed: Positions,
    groups: Positions | None = None,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`certify` without checks; `known` is the earlier result of `head_change`, if there is one."""
    rows, n, m = np.asarray(vectors), len(vectors), int(removed.size)
    whole = isinstance(vectors, Influence)
    convention = vectors.convention if isinstance(vectors, Influence) else "1/(n-m)"
    about: dict[str, Any] = {
        "examples": n,
        "removed": m,
        "convention": convention,
        "damping": vectors.head.damping if isinstance(vectors, Influence) else None,
        "linear": linear_change(rows, removed, convention),
        "random": _random_change(rows, removed, convention, groups),
        "newton": None,
        "corrected": None,
        "printed": None,
        "curvature": None,
    }
    if isinstance(vectors, Influence):
        about |= head_change(vectors, removed) if known is None else known
    about["notes"] = _notes(about, vectors.head if isinstance(vectors, Influence) else None)
    about["covers"] = COVERS if whole else "Only the linear prediction: rows without their head do not allow more."
    return about


def linear_change(rows: NDArray[Any], removed: Positions, convention: str) -> float:
    """|sum of the removed rows|, times n / (n - m) where the loss of the kept examples is averaged."""
    factor = len(rows) / (len(rows) - removed.size) if convention == "1/(n-m)" else 1.0
    return float(np.linalg.norm(_row_sum(rows, removed))) * factor


def head_change(vectors: Influence, removed: Positions, curved: bool = True) -> dict[str, float | None]:
    """The parts that need the head: newton, corrected, printed, and the curvature if requested."""
    head = vectors.head
    n, m = head.n, int(removed.size)
    if m == 0:
        return {"newton": 0.0, "corrected": 0.0, "printed": 0.0, "curvature": 1.0}
    kept = np.setdiff1d(np.arange(n), removed)
    divisor = float(n - m if vectors.convention == "1/(n-m)" else n)
    full = curvature(head)
    here = curvature(head, kept, divisor)
    printed = full.solve(head.total_gradient(removed).reshape(1, -1) / n)
    newton, corrected = _newton_steps(head, kept, divisor, here)
    return {
        "newton": newton,
        "corrected": corrected,
        "printed": float(np.linalg.norm(printed)),
        "curvature": smallest_ratio(here, full, head.parameters) if curved else None,
    }


def _newton_steps(head: Head, kept: Positions, divisor: float, here: Dense | MatrixFree) -> tuple[float, float]:
    """The change after one Newton step, and the limit of further steps; infinite if they do not converge."""
    change, once = np.zeros(head.shape), 0.0
    shortest = np.inf
    for step in range(STEPS):
        slope = head.total_gradient(kept, change) / divisor - head.mean_gradient + head.damping * change
        matrix = here if step == 0 else curvature(head, kept, divisor, change)
        move = matrix.solve(slope.reshape(1, -1)).reshape(head.shape)
        change = change - move
        length, size = float(np.linalg.norm(move)), float(np.linalg.norm(change))
        if step == 0:
            once = size
        if head.loss == "squared" or length <= SETTLED * size:  # one step is exact for least squares
            return once, size
        if not np.isfinite(size) or length > 4 * shortest:
            return once, float("inf")
        shortest = min(shortest, length)
    return once, float("inf")


def _row_sum(rows: NDArray[Any], positions: Positions) -> Floats:
    total = np.zeros(rows.shape[1])
    for part in spans(positions.size, rows.shape[1]):
        total += rows[positions[part]].sum(axis=0, dtype=np.float64)
    return total


def _random_change(rows: NDArray[Any], removed: Positions, convention: str, groups: Positions | None) -> float:
    """Root mean square of the linear change over random removals, with the same number per group; exact.

    A sum of k of n numbers drawn without replacement has the variance k (n - k) / (n - 1) times that of the numbers.
    """
    n = len(rows)
    group = np.zeros(n, dtype=np.int64) if groups is None else groups
    many = int(group.max()) + 1
    size = np.bincount(group, minlength=many)
    taken = np.bincount(group[removed], minlength=many)
    sums, squares = np.zeros((many, rows.shape[1])), np.zeros(many)
    for part in spans(n, rows.shape[1]):
        block = rows[part].astype(np.float64)
        squares += np.bincount(group[part], np.square(block).sum(axis=1), minlength=many)
        for number in np.unique(group[part]):
            sums[number] += block[group[part] == number].sum(axis=0)
    means = sums / size[:, None]
    variance = np.maximum(squares / size - np.square(means).sum(axis=1), 0.0)
    scattered = float((taken * (size - taken) / np.maximum(size - 1, 1) * variance).sum())
    factor = n / (n - removed.size) if convention == "1/(n-m)" else 1.0
    return factor * float(np.sqrt(scattered + np.square(taken @ means).sum()))


def _notes(about: Mapping[str, Any], head: Head | None) -> list[str]:
    """Sentences about where a prediction is less reliable."""
    notes = []
    if about["removed"] > MOST_TRUSTED * about["examples"]:
        notes.append(
            f"More than {MOST_TRUSTED:.0%} of the examples are removed: the linear prediction is too small there, so "
            "use the corrected one."
        )
    if about["curvature"] is not None and about["curvature"] < LEAST_CURVATURE:
        notes.append(
            f"The kept examples have only {about['curvature']:.2f} of the curvature in some direction (below "
            f"{LEAST_CURVATURE:g}): the linear prediction cannot be trusted."
        )
    if about["corrected"] == float("inf"):
        notes.append("Newton steps on the kept examples do not converge: no prediction can be trusted.")
    if head is not None and head.gap > OFF_OPTIMUM:
        notes.append(
            f"The outputs are not those of a head at its optimum (off by {head.gap:.2g}): fit it with "
            "influence.fit_head."
        )
    return notes
