"""Solve the theory: one student, or whole learning curves.

`solve` takes one set of sizes, `learning_curve` arrays of them. A curve is followed upwards in alpha, so that each
point starts from its neighbour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import checks
from ...core.errors import InputError, WinnowError
from . import saddle
from .policies import Window, interval

__all__ = ["Curve", "Solution", "learning_curve", "solve"]

Array = NDArray[np.float64]
ALPHAS = (1e-7, 1e9)


@dataclass(frozen=True)
class Solution:
    """The student predicted by the theory: its overlaps, its margin and its error.

    Attributes
    ----------
    alpha, keep, angle, policy
        The arguments: kept examples per dimension, fraction kept, degrees between probe and teacher, policy.
    R
        Cosine of the angle between student and teacher.
    rho
        Cosine of the angle between student and probe.
    kappa
        The margin: the distance of the closest kept example to the student's boundary.
    error
        The probability of error on new, unpruned data: arccos(R) / pi.
    """

    alpha: float
    keep: float
    angle: float
    policy: str | Window
    R: float
    rho: float
    kappa: float
    error: float


@dataclass(frozen=True)
class Curve:
    """Solutions for arrays of sizes that were broadcast against each other; every field has the same shape."""

    alpha: Array
    keep: Array
    angle: Array
    policy: str | Window
    R: Array
    rho: Array
    kappa: Array
    error: Array

    def __len__(self) -> int:
        return len(self.error)


def solve(alpha: float, keep: float = 1.0, angle: float = 0.0, policy: str | Window = "hard") -> Solution:
    """Solve for the max-margin student trained on `alpha` kept examples per dimension.

    Parameters
    ----------
    alpha
        Kept examples per dimension. The size before pruning, alpha / keep, enters nowhere else.
    keep
        Fraction of the data that is kept, in (0, 1].
    angle
        Degrees between the probe that ranks the examples and the teacher that labels them, from 0 to 90.
    policy
        "hard" keeps the smallest margins, "easy" the largest, "random" any; a `window` those in between.

    Returns
    -------
    Solution
        R, rho, kappa and the error.

    Raises
    ------
    InputError
        If an argument is out of range.
    WinnowError
        If the equations could not be solved.

    Examples
    --------
    >>> round(solve(5, keep=0.2).error, 6)
    0.019967
    """
    alpha = checks.number("alpha", "solve", alpha, low=0.0, open_low=True)
    _within("alpha", "solve", alpha)
    angle = checks.number("angle", "solve", angle, low=0.0, high=90.0)
    low, high, kept = interval("solve", policy, keep)
    given = kept if isinstance(policy, Window) else float(keep)
    R, rho, kappa, error = _curve(np.array([alpha]), low, high, kept, angle)[0].tolist()
    return Solution(alpha, given, angle, policy, R, rho, kappa, error)


def learning_curve(
    alphas: ArrayLike, keep: ArrayLike = 1.0, angle: ArrayLike = 0.0, policy: str | Window = "hard"
) -> Curve:
    """Solve for arrays of alpha, keep and angle, broadcast against each other.

    Points that share keep and angle are solved in the order of alpha, each starting from the one before.

    Parameters
    ----------
    alphas
        Kept examples per dimension.
    keep, angle, policy
        As for `solve`.

    Returns
    -------
    Curve
        R, rho, kappa and the error, each with the broadcast shape.

    Raises
    ------
    InputError
        If an argument is out of range, or the shapes do not broadcast.
    WinnowError
        If the equations could not be solved at a point.

    Examples
    --------
    >>> learning_curve([1, 2, 5]).error.round(6).tolist()
    [0.265711, 0.188479, 0.093827]
    """
    a = checks.array("alphas", "learning_curve", alphas, dtype=np.float64)
    f = checks.array("keep", "learning_curve", keep, dtype=np.float64)
    t = checks.array("angle", "learning_curve", angle, dtype=np.float64)
    try:
        a, f, t = np.broadcast_arrays(a, f, t)
    except ValueError:
        raise InputError(
            f"alphas, keep and angle of learning_curve must broadcast against each other; got shapes "
            f"{a.shape}, {f.shape} and {t.shape}."
        ) from None
    checks.number("alphas", "learning_curve", float(a.min()), low=0.0, open_low=True)
    _within("alphas", "learning_curve", float(a.min()))
    _within("alphas", "learning_curve", float(a.max()))
    for end in (float(t.min()), float(t.max())):
        checks.number("angle", "learning_curve", end, low=0.0, high=90.0)
    flat = np.stack([a.ravel(), f.ravel(), t.ravel()])
    out, kept = np.empty((a.size, 4)), np.empty(a.size)
    settings, which = np.unique(flat[1:], axis=1, return_inverse=True)
    for place, (fraction, degrees) in enumerate(settings.T.tolist()):
        low, high, share = interval("learning_curve", policy, fraction)
        rows = np.flatnonzero(which.ravel() == place)
        rows = rows[np.argsort(flat[0, rows], kind="stable")]
        out[rows] = _curve(flat[0, rows], low, high, share, degrees)
        kept[rows] = share if isinstance(policy, Window) else fraction
    fields: dict[str, Any] = dict(zip(("R", "rho", "kappa", "error"), out.T.reshape(4, *a.shape), strict=True))
    return Curve(a.copy(), kept.reshape(a.shape), t.copy(), policy, **fields)


def _within(name: str, owner: str, alpha: float) -> None:
    if not ALPHAS[0] <= alpha <= ALPHAS[1]:
        raise InputError(
            f"{name} of {owner} must lie from {ALPHAS[0]:g} to {ALPHAS[1]:g}, where the equations hold digits; "
            f"got {alpha:g}."
        )


def _curve(alphas: Array, low: float, high: float, keep: float, angle: float) -> Array:
    """Return rows (R, rho, kappa, error) for increasing `alphas`, one policy interval and one angle in degrees."""
    out = np.empty((alphas.size, 4))
    outcome = saddle.solve_chain(alphas, low, high, keep, math.radians(angle), out)
    if outcome != saddle.CONVERGED:
        raise WinnowError(
            f"the theory's equations were not solved at alpha={alphas[outcome - 1]:g}, keep={keep:.3g}, "
            f"angle={angle:g}: slices thinner than 1e-4 of the data, or far out in its tails, can be lost in rounding; "
            "please report any other case."
        )
    return out
