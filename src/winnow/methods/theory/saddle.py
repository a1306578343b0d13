"""The saddle point, compiled: the three numbers that determine the student, for one (alpha, policy, angle).

Three numbers describe the max-margin student w (margin 1, so |w| = 1/kappa): w = M m + sigma e, with m a unit vector
in the plane of teacher and probe, at angle beta from the teacher towards the probe, and e orthogonal to that
plane. Along a kept example (x, y its components along m and across m in the plane, g a standard normal, signs
chosen so that its label is +1) the margin is tau = M x + sigma g. The three saddle-point conditions, in the frame of
m, read

    alpha E (1 - tau)_+^2            = sigma^2
    M (1 - alpha Pr(tau < 1))        = alpha E[(1 - tau)_+ x]
    0                                =       E[(1 - tau)_+ y].

They are the optimality conditions of a convex problem, the shortest w with sqrt(alpha E (1 - tau)_+^2) <= sigma,
so the root is unique. In this frame the integrals over g and over y have closed forms (normal distribution
functions at the ends of the strips that u > 0 and low < |z| < high cut out of the line x = const), and one
integral, over x, is left to Gauss-Legendre on panels cut where an end crosses the bulk or where tau crosses 1.
All integrands but the third are positive, so nothing cancels even where the kept data are a thin slice.

Nothing divides by the sine of the probe's angle: at angle 0 the strips become sharp and the same code applies.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...core.jit import compiled
from .averages import BREAKS, MOMENTS, mass, moments

__all__ = ["CONVERGED", "solve_chain"]

Array = NDArray[np.float64]

CONVERGED = 0
_TOLERANCE = 1e-7  # of the last step: Newton squares it
_STEPS = 25
_START = 0.02  # an alpha so small that the student is the mean of its examples, with room to spare
_RIGHT = 0.5 * math.pi
_NEIGHBOUR = 1.0  # points of a curve closer than this in log alpha start from each other
_ORDER = 6  # points that a curve is continued from, by the polynomial through them


@compiled
def _residual(alpha: float, M: float, sigma: float, m: Array, res: Array) -> float:
    """How far the three conditions are from holding, each without units; returns the sum of squares."""
    if m[0] <= 0.0:
        return np.inf
    res[0] = math.log(alpha * m[0] / (sigma * sigma))
    res[1] = 1.0 - alpha * m[3] - alpha * m[1] / M
    res[2] = alpha * m[2] / M
    return float(res[0] ** 2 + res[1] ** 2 + res[2] ** 2)


@compiled
def _step(alpha: float, M: float, sigma: float, m: Array, res: Array, step: Array) -> bool:
    """Newton's step in (log M, beta, log sigma), by Cramer's rule."""
    e2, ex, ey, p = m[0], m[1], m[2], m[3]
    a00, a01, a02 = -2.0 * ex * M / e2, -2.0 * M * ey / e2, 2.0 * sigma * sigma * p / e2 - 2.0
    a10 = alpha * M * m[7] / sigma + alpha * m[4] + alpha * ex / M
    a11 = alpha * M * m[8] / sigma + alpha * m[5] - alpha * ey / M
    a12 = alpha * m[9] - alpha * sigma * m[7] / M
    a20 = -alpha * m[5] - alpha * ey / M
    a21 = -alpha * m[6] - alpha * ex / M
    a22 = alpha * sigma * m[8] / M
    det = a00 * (a11 * a22 - a12 * a21) - a01 * (a10 * a22 - a12 * a20) + a02 * (a10 * a21 - a11 * a20)
    if det == 0.0 or not math.isfinite(det):
        return False
    r0, r1, r2 = -res[0], -res[1], -res[2]
    step[0] = (r0 * (a11 * a22 - a12 * a21) - a01 * (r1 * a22 - a12 * r2) + a02 * (r1 * a21 - a11 * r2)) / det
    step[1] = (a00 * (r1 * a22 - a12 * r2) - r0 * (a10 * a22 - a12 * a20) + a02 * (a10 * r2 - r1 * a20)) / det
    step[2] = (a00 * (a11 * r2 - r1 * a21) - a01 * (a10 * r2 - r1 * a20) + r0 * (a10 * a21 - a11 * a20)) / det
    return math.isfinite(step[0]) and math.isfinite(step[1]) and math.isfinite(step[2])


@compiled
def _newton(alpha: float, low: float, high: float, keep: float, theta: float, state: Array, steps: int) -> int:
    """Damped Newton from `state` = (log M, beta, log sigma), in place; 0 if converged, else 1."""
    m, trial_m = np.empty(MOMENTS), np.empty(MOMENTS)
    res, trial_res, step = np.empty(3), np.empty(3), np.empty(3)
    breaks, line = np.empty(BREAKS), np.empty(3)
    M, beta, sigma = math.exp(state[0]), state[1], math.exp(state[2])
    moments(M, beta, sigma, low, high, keep, theta, m, breaks, line)
    merit = _residual(alpha, M, sigma, m, res)
    if not math.isfinite(merit):
        return 1
    for _ in range(steps):
        if not _step(alpha, M, sigma, m, res, step):
            return 1
        size = max(abs(step[0]), abs(step[2]))
        turn = abs(step[1])
        scale = min(1.0, abs(beta) + sigma / M)
        if turn <= _TOLERANCE * scale and size <= _TOLERANCE:
            state += step
            return CONVERGED
        damp = min(1.0, 1.5 / max(size, 1e-300), 0.4 / max(turn, 1e-300))
        moved = False
        for _halving in range(30):
            log_M, b, log_s = state[0] + damp * step[0], beta + damp * step[1], state[2] + damp * step[2]
            if abs(b) < _RIGHT and abs(log_M) < 300.0 and abs(log_s) < 300.0:
                M_new, s_new = math.exp(log_M), math.exp(log_s)
                moments(M_new, b, s_new, low, high, keep, theta, trial_m, breaks, line)
                trial = _residual(alpha, M_new, s_new, trial_m, trial_res)
                if trial < merit:
                    moved = True
                    break
            damp *= 0.5
        if not moved:  # rounding: as good as it gets if the step was already tiny
            return CONVERGED if size < 1e-9 and turn < 1e-9 * scale else 1
        state[0], state[1], state[2] = log_M, b, log_s
        M, beta, sigma, merit = M_new, b, s_new, trial
        m[:], res[:] = trial_m, trial_res
    return 1


@compiled
def _guess(alpha: float, low: float, high: float, keep: float, theta: float, state: Array) -> None:
    """Guess the root: that of unpruned data at this alpha, scaled by the density of kept data at the boundary."""
    sine = math.sin(theta)
    if sine > 0.0:
        dense = 2.0 * mass(low / sine, high / sine) / keep
    else:
        dense = (1.0 if low == 0.0 else 0.0) / keep
    state[0] = math.log(alpha * max(dense, 0.2))
    state[1] = 0.0
    state[2] = 0.5 * math.log(2.46 * alpha / (alpha + 1.8))


@compiled
def _start(low: float, high: float, keep: float, theta: float, state: Array) -> None:
    """Set the student of very few examples: their mean, which gives its direction, and noise of size sqrt(alpha)."""
    m, breaks, line = np.empty(MOMENTS), np.empty(BREAKS), np.empty(3)
    moments(1e-6, 0.0, 1e-6, low, high, keep, theta, m, breaks, line)
    state[0] = math.log(_START * math.hypot(m[1], m[2]))
    state[1] = math.atan2(m[2], m[1])
    state[2] = 0.5 * math.log(_START)


@compiled
def _follow(start: float, alpha: float, low: float, high: float, keep: float, theta: float, state: Array) -> int:
    """Follow the root from `start` to `alpha` along the learning curve, with shorter steps where Newton fails."""
    at, goal, stride = math.log(start), math.log(alpha), 0.8 if alpha > start else -0.8
    slope, trial = np.zeros(3), np.empty(3)
    for _ in range(400):
        to = goal if abs(goal - at) <= abs(stride) else at + stride
        trial[:] = state + slope * (to - at)
        if _newton(math.exp(to), low, high, keep, theta, trial, 8) == CONVERGED:
            if to == goal:
                state[:] = trial
                return CONVERGED
            slope[:] = (trial - state) / (to - at)
            state[:] = trial
            at = to
            stride *= 1.5
        else:
            slope[:] = 0.0
            stride *= 0.4
            if abs(stride) < 1e-4:
                return 1
    return 1


@compiled
def _cold(alpha: float, low: float, high: float, keep: float, theta: float, state: Array) -> int:
    """Find the root without a neighbour: Newton from a guess, else follow the curve up from few examples."""
    _guess(alpha, low, high, keep, theta, state)
    if _newton(alpha, low, high, keep, theta, state, _STEPS) == CONVERGED:
        return CONVERGED
    _start(low, high, keep, theta, state)
    first = min(_START, alpha)
    if _newton(first, low, high, keep, theta, state, 2 * _STEPS) != CONVERGED:
        return 1
    return _follow(first, alpha, low, high, keep, theta, state)


@compiled
def _continue(places: Array, table: Array, known: int, place: float, state: Array) -> None:
    """Continue the polynomial through the points before, as long as its terms fall fast."""
    state[:] = table[0]
    reach, before = 1.0, np.inf
    for order in range(1, known):
        reach *= place - places[order - 1]
        term = abs(reach) * np.abs(table[order]).max()
        if order > 1 and term > 0.5 * before:
            return
        for i in range(3):
            state[i] += reach * table[order, i]
        before = term


@compiled
def _remember(places: Array, table: Array, known: int, place: float, state: Array) -> int:
    """Put a point before the others, with the divided differences from it on; returns how many are known."""
    known = min(known + 1, _ORDER)
    for order in range(known - 1, 0, -1):
        places[order] = places[order - 1]
    places[0] = place
    for i in range(3):
        new = state[i]
        for order in range(known):
            old = table[order, i]
            table[order, i] = new
            if order + 1 < known:
                new = (new - old) / (place - places[order + 1])
    return known


@compiled
def solve_chain(alphas: Array, low: float, high: float, keep: float, theta: float, out: Array) -> int:
    """Solve for increasing `alphas`, each from its neighbour; rows of `out` become (R, rho, kappa, error).

    Returns `CONVERGED`, or 1 plus the index of the first alpha that could not be solved.
    """
    probe = 0.0 if low == 0.0 and high == np.inf else theta  # without pruning the probe does not matter
    state, places, table, known = np.zeros(3), np.zeros(_ORDER), np.zeros((_ORDER, 3)), 0
    for i in range(alphas.size):
        place = math.log(alphas[i])
        done = False
        if known > 0 and place - places[0] >= _NEIGHBOUR:
            known = 0
        if known > 0:
            _continue(places, table, known, place, state)
            done = _newton(alphas[i], low, high, keep, probe, state, 8) == CONVERGED
        if not done and _cold(alphas[i], low, high, keep, probe, state) != CONVERGED:
            return i + 1
        if known == 0 or place > places[0]:
            known = _remember(places, table, known, place, state)
        in_plane, noise = math.exp(state[0]), math.exp(state[2])
        along, across = in_plane * math.cos(state[1]), in_plane * math.sin(state[1])
        kappa = 1.0 / math.hypot(in_plane, noise)
        out[i, 0] = along * kappa
        out[i, 1] = (along * math.cos(theta) + across * math.sin(theta)) * kappa
        out[i, 2] = kappa
        out[i, 3] = math.atan2(math.hypot(across, noise), along) / math.pi  # arccos loses half the digits near R = 1
    return CONVERGED
