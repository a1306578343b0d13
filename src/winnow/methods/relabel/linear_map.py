"""The linear map from one representation to another, and its error on each held-out row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError

__all__ = ["STRENGTHS", "errors"]

Array = NDArray[np.float64]
STRENGTHS = 10.0 ** np.arange(-8.0, 3.0)  # of the ridge, relative to the largest squared singular value
SAME = 1e-12  # a relative difference below this is rounding
CHUNK = 512  # rows compared with all others at a time


def errors(
    owner: str,
    a: NDArray[Any],
    b: NDArray[Any],
    fitted: NDArray[np.int64],
    judged: NDArray[np.int64],
    form: str,
    ridge: float | None,
) -> Array:
    """Return the error of each held-out row; their mean is the distance."""
    x, y = a[fitted].astype(np.float64), b[fitted].astype(np.float64)
    centre, middle = x.mean(axis=0), y.mean(axis=0)
    x -= centre
    y -= middle
    spread = x.std(axis=0)
    times = np.divide(1.0, spread, out=np.zeros(spread.size), where=spread > SAME * np.abs(centre))
    wanted = b[judged].astype(np.float64) - middle
    size = np.square(wanted).sum() / len(judged)
    if size <= (SAME * np.abs(middle).max()) ** 2:
        raise InputError(f"representations of {owner} must differ between examples; one to be predicted is constant.")
    guess = ((a[judged].astype(np.float64) - centre) * times) @ _ridge(x * times, y, ridge)
    if form == "neighbour":
        return _missed(guess, wanted)
    return np.asarray(np.square(wanted - guess).sum(axis=1) / size)


def _ridge(x: Array, y: Array, strength: float | None) -> Array:
    """Coefficients of ridge regression on centred rows; the strength by generalised cross-validation if None."""
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    alive = s > SAME * max(s[0], np.finfo(float).tiny)
    u, s, vt = u[:, alive], s[alive], vt[alive]
    if s.size == 0:
        return np.zeros((x.shape[1], y.shape[1]))
    seen = u.T @ y
    if strength is None:
        strength = _chosen(len(x), s, seen, y)
    return np.asarray(vt.T @ ((s / (s**2 + strength * s[0] ** 2))[:, None] * seen))


def _chosen(n: int, s: Array, seen: Array, y: Array) -> float:
    """The strength with the smallest RSS / (1 - degrees of freedom / n)^2; the mean takes one degree of freedom."""
    power = np.square(seen).sum(axis=1)
    beyond = max(float(np.square(y).sum() - power.sum()), 0.0)
    scores = []
    for strength in STRENGTHS:
        shrunk = s**2 / (s**2 + strength * s[0] ** 2)
        left = max(1.0 - (1.0 + float(shrunk.sum())) / n, np.finfo(float).eps)
        scores.append((float(np.square(1 - shrunk) @ power) + beyond) / left**2)
    return float(STRENGTHS[int(np.argmin(scores))])


def _missed(guess: Array, wanted: Array) -> Array:
    """1 where another row is nearer to the guess than its own; equal rows count as the same."""
    out = np.empty(len(guess))
    squares = np.square(wanted).sum(axis=1)
    for start in range(0, len(guess), CHUNK):
        part = guess[start : start + CHUNK]
        apart = squares - 2 * part @ wanted.T  # without the guess's own length, which does not matter here
        own = apart[np.arange(len(part)), np.arange(start, start + len(part))]
        slack = 1e-9 * (np.abs(own) + squares[start : start + len(part)])
        out[start : start + len(part)] = apart.min(axis=1) < own - slack
    return out
