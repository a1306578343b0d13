"""Slow, obvious twins of the information gain: Eq. 65 by plain quadrature, students counted, the saddle by hand.

Nothing here uses the reductions of `wn.theory`: the entropy is a double integral in the paper's own q and R, the means
are double integrals, and the version space is sampled.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.optimize import minimize_scalar, root
from scipy.special import log_ndtr, ndtr

ROOT_2PI = math.sqrt(2 * math.pi)


def panels(cuts, order=32):
    """Composite Gauss-Legendre nodes and weights."""
    x, w = np.polynomial.legendre.leggauss(order)
    half = np.diff(cuts)[:, None] / 2
    return (np.asarray(cuts)[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()


def entropy_at(alpha, q, R, low, high):
    """Eq. 65 at no margin, before it is extremised: a double integral over t and z."""
    t, wt = panels(np.linspace(-9, 9, 4))
    z, wz = panels(np.linspace(low, min(high, 9.0), 4))
    wt, wz = wt * np.exp(-t * t / 2), wz * np.exp(-z * z / 2)
    logs = log_ndtr((math.sqrt(q - R * R) * t[:, None] + R * z) / math.sqrt(1 - q))
    return math.log(1 - q) / 2 + (q - R * R) / (1 - q) / 2 + alpha * (wt @ logs @ wz) / (wt.sum() * wz.sum())


def entropy(alpha, low, high):
    """The extremum of Eq. 65: lowest in q, of the highest in R."""

    def best(q):
        far = math.sqrt(q) * (1 - 1e-9)
        return -minimize_scalar(
            lambda R: -entropy_at(alpha, q, R, low, high), bounds=(0, far), method="bounded", options={"xatol": 1e-9}
        ).fun

    return minimize_scalar(best, bounds=(0.01, 0.995), method="bounded", options={"xatol": 1e-9}).fun


def gain_by_difference(alpha, low, high, step=0.005):
    """-dS/dalpha by a fourth-order central difference of the extremised entropy."""
    near = entropy(alpha + step, low, high) - entropy(alpha - step, low, high)
    far = entropy(alpha + 2 * step, low, high) - entropy(alpha - 2 * step, low, high)
    return -(8 * near - far) / (12 * step)


def mean(h, A, B, low, high):
    """E h(A t + B z, z) by brute force: a grid over t that resolves A t to 1, and doubling panels over z."""
    top = min(high, math.hypot(low, 9.0))
    doublings = max(1, math.ceil(math.log2(B * (top - low) + 1)) + 2)
    t, wt = panels(np.linspace(-12, 12, 2 + math.ceil(24 * max(1.0, A))), order=16)
    z, wz = panels([low, *(low + (top - low) * 2.0 ** np.arange(-doublings, 1))], order=16)
    wt, wz = wt * np.exp(-t * t / 2), wz * np.exp(-z * z / 2)
    return wt @ h(A * t[:, None] + B * z, z) @ wz / (wt.sum() * wz.sum())


@njit(cache=True)
def walk(columns, start, samples, thin, rng):
    """Students uniform in direction among those with positive margins: a Gaussian vector, coordinate by coordinate.

    Each coordinate is redrawn between the constraints' limits under a level of its Gaussian (slice sampling).
    """
    n, p = columns.shape
    inverse = 1.0 / columns
    J = start.copy()
    margin = columns.T @ J
    out = np.empty((samples, n))
    for s in range(samples):
        for _ in range(thin):
            for i in range(n):
                reach = math.sqrt(J[i] ** 2 - 2.0 * math.log(1.0 - rng.random()))
                low, high = -reach - J[i], reach - J[i]
                for k in range(p):
                    limit = -margin[k] * inverse[i, k]
                    if inverse[i, k] > 0.0:
                        low = max(low, limit)
                    else:
                        high = min(high, limit)
                move = low + (high - low) * rng.random()
                J[i] += move
                margin += columns[i] * move
        out[s] = J
    return out


def kept_examples(rng, count, N, low, high):
    """Examples times their labels, the teacher along the first axis; margins redrawn until the policy keeps them."""
    z = np.empty(0)
    while z.size < count:
        more = np.abs(rng.standard_normal(8 * count))
        z = np.concatenate([z, more[(more > low) & (more < high)]])
    x = rng.standard_normal((count, N))
    x[:, 0] = z[:count]
    return x


def surprise(right):
    """Mean of -log(the part of the students, one a row, that is right), over examples."""
    return -np.log(np.maximum(right.mean(axis=0), 0.5 / len(right))).mean()


def measured_gain(alpha, low, high, N, draws, seed, samples=800, thin=3, fresh=400):
    """Mean of -log(the part of the version space that answers a fresh kept example rightly), and its standard error."""
    rng = np.random.default_rng(seed)
    gains = []
    for _ in range(draws):
        # turn the axes, so that the teacher is no coordinate of the walk
        turn = np.linalg.qr(rng.standard_normal((N, N)))[0]
        columns = np.ascontiguousarray(turn @ kept_examples(rng, round(alpha * N), N, low, high).T)
        start = walk(columns, turn[:, 0] * math.sqrt(N), 1, 300, rng)[0]
        students = walk(columns, start, samples, thin, rng)
        right = students @ turn @ kept_examples(rng, fresh, N, low, high).T > 0
        # -log of a counted part is too high by a constant over the count; halves show the excess twice, so it goes
        halves = (surprise(right[: samples // 2]) + surprise(right[samples // 2 :])) / 2
        gains.append(2 * surprise(right) - halves)
    return float(np.mean(gains)), float(np.std(gains, ddof=1) / math.sqrt(draws))


def error_at_angle(alpha, low, high, degrees, start):
    """The max-margin student's error with a probe at an angle: three saddle equations, u and v by quadrature.

    J = R T + d v + s e, everything divided by the margin; `start` and the second result are (R, d, s) / kappa.
    """
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))

    def equations(logs):
        r, d, s = np.exp(logs[0]), logs[1], np.exp(logs[2])
        # u > 0 by symmetry; only u up to a few s / r matters
        u, wu = panels(np.linspace(0, (1 + 9 * s + 6 * abs(d)) / r, 6))
        totals = np.zeros(4)
        for left, right in ((low, high), (-high, -low)):
            a, b = (np.clip((end - u * cosine) / sine, -9, 9) for end in (left, right))
            x, w = np.polynomial.legendre.leggauss(40)
            v = a[:, None] + (b - a)[:, None] * (x + 1) / 2
            weight = wu[:, None] * (b - a)[:, None] / 2 * w * np.exp(-(v * v + u[:, None] ** 2) / 2) / math.pi
            gap = (1 - r * u[:, None] - d * v) / s
            density = np.exp(-gap * gap / 2) / ROOT_2PI
            first = s * (gap * ndtr(gap) + density)
            totals += [
                (weight * ndtr(gap)).sum(),
                (weight * s * s * ((1 + gap * gap) * ndtr(gap) + gap * density)).sum(),
                (weight * first * u[:, None]).sum(),
                (weight * first * v).sum(),
            ]
        mass = math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))
        P, square, along, across = alpha * totals / mass
        return [square / s**2 - 1, r * (1 - P) - along, d * (1 - P) - across]

    first = [math.log(start[0]), start[1], math.log(start[2])]
    found = root(equations, first, tol=1e-12)
    assert found.success, found.message
    r, d, s = math.exp(found.x[0]), found.x[1], math.exp(found.x[2])
    return math.atan2(math.hypot(d, s), r) / math.pi, (r, d, s)
