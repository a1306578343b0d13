"""The information in one more kept example: the rate at which the set of error-free students shrinks.

A student J on the sphere in N dimensions has seen alpha N kept examples and gets all of them right. Such students
fill a volume exp(N S(alpha)), and the information gain is I(alpha) = -dS/dalpha, in nats per example. A fraction
Phi(X) of that volume classifies a new example correctly, so I is also the mean of -log Phi(X). With q the overlap of
two students, R that of a student with the teacher, and z > 0 the teacher's margin of a kept example,

    X = A t + B z,  t standard normal,  A = sqrt((q - R^2) / (1 - q)),  B = R / sqrt(1 - q).

The entropy (Eq. 65 of Sorscher et al. 2022, no margin) is the extremum over q and R, that is over A and B, of

    S = -log(1 + A^2 + B^2) / 2 + A^2 / 2 + alpha E log Phi(X).

Write psi = phi / Phi, so that psi' = -psi (X + psi). With Stein's lemma, E[psi t] = A E psi', the derivatives of S
vanish where q = -alpha E psi' and B (1 - q) = alpha E[psi z]. Substituting psi' into the first and using the second
gives a mean of positive terms, so that nothing cancels where q is close to 1:

    A^2 = alpha E[psi^2],     B / (1 + A^2 + B^2) = alpha E[psi z].

At f = 1 the solution has q = R and I is the classical Eq. 72. Below f = 1, q differs from R, and Eqs. 73 to 77 of the
paper, which assume q = R, do not hold. Every mean here is one integral over X: given X, z is a normal truncated at the
policy's ends, and its moments have a closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from ...core import checks
from ...core.errors import InputError
from .policies import Window, interval

__all__ = ["Information", "information_gain"]

_Vector = NDArray[np.float64]
_Kept = tuple[float, float, float]  # low, high and the fraction between them
_OWNER = "information_gain"
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 9.5  # standard deviations after which a Gaussian factor no longer counts: exp(-9.5^2 / 2) < 1e-19
_STEPS = np.array([-9.5, -7.0, -5.0, -3.5, -2.0, -1.0, 0.0, 1.0, 2.0, 3.5, 5.0, 7.0, 9.5])
_ROOT_2PI = math.sqrt(2.0 * math.pi)
_TOLERANCE = 1e-11
_ALPHAS = (1e-8, 1e9)  # the tested range


@dataclass(frozen=True)
class Information:
    """The information gain and the overlaps that go with it; all numbers, or all arrays of the same shape.

    Attributes
    ----------
    alpha
        Kept examples per dimension.
    keep, policy
        The fraction of the data that the policy keeps, and the policy.
    nats
        The information gain of one more kept example.
    q
        The overlap of two students that make no error on the kept examples.
    R
        The overlap of such a student with the teacher.
    """

    alpha: Any
    keep: Any
    policy: str | Window
    nats: Any
    q: Any
    R: Any


def information_gain(alpha: ArrayLike, keep: ArrayLike = 1.0, policy: str | Window = "hard") -> Information:
    """Compute the information in one more kept example, in nats, for a perfect probe.

    The gain rises as fewer, harder examples are kept. If examples at the boundary are kept (hard, random), it
    tends to 1 / alpha at large alpha for every fraction. If they are not (easy, a window away from 0), it falls
    faster: what remains to be learned lies where there are no examples.

    Parameters
    ----------
    alpha
        Kept examples per dimension, above 0: a number or an array.
    keep
        The fraction kept, in (0, 1]: a number or an array that broadcasts against alpha. A window defines its own.
    policy
        "hard", "easy", "random" or a `Window`.

    Returns
    -------
    Information
        The gain in `nats`, and the overlaps `q` and `R`.

    Raises
    ------
    InputError
        If an argument is out of range, the shapes do not broadcast, or a point could not be solved.

    Examples
    --------
    >>> round(information_gain(3, keep=0.2).nats, 4), round(information_gain(3).nats, 4)
    (0.3787, 0.2842)
    """
    alphas = checks.array("alpha", _OWNER, alpha, dtype=np.float64)
    keeps = checks.array("keep", _OWNER, keep, dtype=np.float64)
    if (alphas <= 0).any():
        raise InputError(f"alpha of {_OWNER} must be a number above 0; got {alphas[alphas <= 0].flat[0]:g}.")
    outside = (alphas < _ALPHAS[0]) | (alphas > _ALPHAS[1])
    if outside.any():
        raise InputError(
            f"alpha of {_OWNER} must lie from {_ALPHAS[0]:g} to {_ALPHAS[1]:g}; got {alphas[outside].flat[0]:g}."
        )
    try:
        shape = np.broadcast_shapes(alphas.shape, keeps.shape)
    except ValueError:
        raise InputError(
            f"alpha and keep of {_OWNER} must broadcast; got shapes {alphas.shape} and {keeps.shape}."
        ) from None
    ends = {value: interval(_OWNER, policy, value) for value in np.unique(keeps).tolist()}
    pairs = zip(np.broadcast_to(alphas, shape).flat, np.broadcast_to(keeps, shape).flat, strict=True)
    rows = np.array([(ends[k][2], *_gain(float(a), ends[k])) for a, k in pairs]).reshape(*shape, 4)
    if not shape:
        kept, nats, q, R = rows.tolist()
        return Information(float(alphas), kept, policy, nats, q, R)
    columns = [checks.frozen(column) for column in (np.broadcast_to(alphas, shape), *np.moveaxis(rows, -1, 0))]
    return Information(columns[0], columns[1], policy, *columns[2:])


def _gain(alpha: float, kept: _Kept) -> tuple[float, float, float]:
    """Return the gain, q and R at one point."""
    A, B = _extremum(alpha, kept)
    x, mass, _, _ = _measure(A, B, *kept)
    total = 1.0 + A * A + B * B
    return float(-(log_ndtr(x) @ mass)), (A * A + B * B) / total, B / math.sqrt(total)


def _extremum(alpha: float, kept: _Kept) -> tuple[float, float]:
    """Find A and B at the extremum: Newton from either limit of alpha, else along a path of increasing alpha."""
    starts = [_small_alpha, _large_alpha] if alpha < 2.0 or kept[0] > 0.0 else [_large_alpha, _small_alpha]
    tries = (_descend(alpha, kept, start(alpha, kept)) for start in starts)
    point = next((found for found in tries if found is not None), None)
    if point is None:
        point = _climb(alpha, kept)
    if point is None:
        raise InputError(
            f"{_OWNER} found no extremum of the entropy at alpha={alpha:g}, keep={kept[2]:g} (margins {kept[0]:g} to "
            f"{kept[1]:g}); it is meant for alpha from 0.01 to 1000 and keep from 0.001 to 1."
        )
    A, B = np.exp(point).tolist()
    return A, B


def _small_alpha(alpha: float, kept: _Kept) -> _Vector:
    """The logs of A and B to leading order in alpha, where X is close to 0 and psi to psi(0)."""
    low, high, fraction = kept
    between = -math.exp(-low * low / 2.0) * math.expm1(-(high - low) * (high + low) / 2.0)
    mean = 2.0 * between / (_ROOT_2PI * fraction)
    start: _Vector = np.log(math.sqrt(2.0 / math.pi) * np.array([math.sqrt(alpha), alpha * mean]))
    return start


def _large_alpha(alpha: float, kept: _Kept) -> _Vector:
    """The logs of A and B once only examples near the boundary matter: A tends to 1, B to 0.72 alpha / f.

    The figure 0.72 is that of unpruned data, where the error of a random error-free student falls as 0.625 / alpha;
    keeping only the hardest fraction f raises the density at the boundary by 1 / f.
    """
    start: _Vector = np.log(np.array([1.0, 0.72 * alpha / kept[2]]))
    return start


def _climb(alpha: float, kept: _Kept) -> _Vector | None:
    """Follow the solution from a small alpha, extrapolating each next point linearly in logs."""
    reached, step = min(alpha, 0.01), math.log(2.0)
    point = _descend(reached, kept, _small_alpha(reached, kept))
    slope = np.array([0.5, 1.0])
    while point is not None and reached < alpha:
        nearby = min(alpha, reached * math.exp(step))
        stride = math.log(nearby / reached)
        found = _descend(nearby, kept, point + stride * slope)
        if found is None:
            step /= 2.0
            if step < 1e-4:
                return None
            continue
        slope, point, reached = (found - point) / stride, found, nearby
        step = min(1.5 * step, math.log(4.0))
    return point


def _descend(alpha: float, kept: _Kept, start: _Vector) -> _Vector | None:
    """Damped Newton in log A and log B; None if it stalls."""
    point = start
    miss, slopes = _residual(alpha, kept, point)
    size = float(np.abs(miss).max())
    for _ in range(60):
        if not math.isfinite(size):
            return None
        try:
            move = -np.linalg.solve(slopes, miss)
        except np.linalg.LinAlgError:
            return None
        move *= min(1.0, 2.0 / float(np.abs(move).max() + 1e-300))
        damping = 1.0
        while damping > 1e-3:
            trial = point + damping * move
            trial_miss, trial_slopes = _residual(alpha, kept, trial)
            trial_size = float(np.abs(trial_miss).max())
            if trial_size < (1.0 - 0.1 * damping) * size or trial_size < _TOLERANCE:
                break
            damping /= 2.0
        else:
            return None
        point, miss, slopes, size = trial, trial_miss, trial_slopes, trial_size
        if size < _TOLERANCE:
            # one more step costs no evaluation and squares the remaining error
            return point - np.linalg.solve(slopes, miss)
    return None


def _residual(alpha: float, kept: _Kept, point: _Vector) -> tuple[_Vector, _Vector]:
    """How far both conditions are from holding, in logs, and the derivatives by log A and log B.

    A Gaussian mean of h(A t + B z) has the derivatives A E h'' by A and E[h' z] by B.
    """
    A, B = np.exp(point).tolist()
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        x, mass, first, second = _measure(A, B, *kept)
        psi, d1, d2 = _hazard(x)
        square, pull = float((psi * psi) @ mass), float(psi @ first)
        by_A = A * A * np.array([(2.0 * (d1 * d1 + psi * d2)) @ mass / square, d2 @ first / pull])
        by_B = B * np.array([(2.0 * psi * d1) @ first / square, d1 @ second / pull])
        total = 1.0 + A * A + B * B
        miss = np.log([alpha * square / (A * A), alpha * pull * total / B])
        own = np.array([[-2.0, 0.0], [2.0 * A * A / total, 2.0 * B * B / total - 1.0]])
        slopes = own + np.column_stack([by_A, by_B])
    return miss, slopes


def _measure(A: float, B: float, low: float, high: float, fraction: float) -> tuple[_Vector, ...]:
    """Return nodes of X = A t + B z, and the weights that turn sums over them into E[h], E[h z] and E[h z^2]."""
    cuts = _cuts(A, B, low, high)
    half = np.diff(cuts) / 2.0
    x = ((cuts[:-1] + half)[:, None] + half[:, None] * _NODES).ravel()
    dx = (half[:, None] * _WEIGHTS).ravel()
    spread = math.hypot(A, B)
    mean, sd = (B / spread) * (x / spread), A / spread
    moments = _narrow if high - low < sd else _wide
    scale = 2.0 / fraction * dx * np.exp(-0.5 * (x / spread) ** 2) / (_ROOT_2PI * spread)
    zeroth, first, second = moments(mean, sd, low, high)
    return x, scale * zeroth, scale * first, scale * second


def _cuts(A: float, B: float, low: float, high: float) -> _Vector:
    """Return the ends of the panels: every point where the integrand bends, over the range where it matters.

    The density of X bends on the scale A around B low and B high; psi bends on the scale 1 around 0, and only
    algebraically on its left, where doubling panels suffice. Right of 0, psi falls as a Gaussian, and against
    the rising flank of the density at B low it makes a separate peak.
    """
    edge = B * low
    reach = _REACH * A
    left = -(reach**2) / (edge + math.hypot(edge, reach))
    peak, width = edge / (1.0 + A * A), A / math.hypot(1.0, A)
    right = min(peak + _REACH, reach + B * min(high, math.hypot(low, _REACH)))
    doubling = -5.0 * 2.0 ** np.arange(1, max(2, math.ceil(math.log2(max(-left, 1.0)))))
    # the last: where B dwarfs A, the half-normal itself bends on the scale B
    marks = [_STEPS, doubling, edge + A * _STEPS, np.array([left, right]), edge + B * np.arange(1.0, 10.0)]
    if low > 0.0:
        marks.append(peak + width * _STEPS)
    if B * high < right + reach:
        marks.append(B * high + A * _STEPS)
    every = np.unique(np.concatenate(marks))
    inside = every[(every >= left) & (every <= right)]
    cuts: _Vector = inside[np.concatenate([[True], np.diff(inside) > 1e-12 * (right - left)])]
    return cuts


def _wide(mean: _Vector, sd: float, low: float, high: float) -> tuple[_Vector, _Vector, _Vector]:
    """Moments 0, 1, 2 of a normal z over low < z < high, from its distribution function."""
    a, b = (low - mean) / sd, (high - mean) / sd
    at_a, at_b = np.exp(-0.5 * a * a) / _ROOT_2PI, np.exp(-0.5 * b * b) / _ROOT_2PI
    zeroth = np.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
    first = mean * zeroth + sd * (at_a - at_b)
    far = high * at_b if math.isfinite(high) else 0.0
    second = mean * first + sd * sd * zeroth + sd * (low * at_a - far)
    return zeroth, first, second


def _narrow(mean: _Vector, sd: float, low: float, high: float) -> tuple[_Vector, _Vector, _Vector]:
    """The same by quadrature over z, for a slice so thin that differences of the distribution would cancel."""
    half = (high - low) / 2.0
    z = low + half + half * _NODES
    density = np.exp(-0.5 * ((z - mean[:, None]) / sd) ** 2) * (half * _WEIGHTS / (_ROOT_2PI * sd))
    return density.sum(axis=1), density @ z, density @ (z * z)


def _hazard(x: _Vector) -> tuple[_Vector, _Vector, _Vector]:
    """Compute psi = phi / Phi and its first two derivatives without cancellation far left of 0.

    There psi = y + e with y = -x and e = 1 / (y + r), r = 2 / (y + 3 / (y + ...)): the continued fraction gives
    the small parts e and r directly, psi' = -psi e and psi'' = psi e (2 e - r).
    """
    psi = math.sqrt(2.0 / math.pi) / erfcx(-x / math.sqrt(2.0))
    excess = x + psi
    d1 = -psi * excess
    d2 = psi * (excess * excess - (1.0 + d1))
    far = x < -5.0
    y = -x[far]
    rest = np.zeros_like(y)
    for level in range(40, 1, -1):
        rest = level / (y + rest)
    e = 1.0 / (y + rest)
    psi[far], d1[far], d2[far] = y + e, -(y + e) * e, (y + e) * e * (2.0 * e - rest)
    return psi, d1, d2
