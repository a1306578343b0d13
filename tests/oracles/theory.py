"""Slow, obvious twins of the theory: METHODS' three conditions by nested adaptive quadrature and a general root finder.

Nothing is shared with the compiled solver. The frame is another one (probe margin z and the direction w across it,
z > 0, both labels), the unknowns are others ((R, d, s) / kappa), the only closed form used is that of the noise g,
and scipy decides where to put its nodes.

    s^2 = alpha E (1 - t)_+^2,  R (1 - alpha P) = alpha E[(1 - t)_+ y u],  d (1 - alpha P) = alpha E[(1 - t)_+ y v]
"""

from __future__ import annotations

import itertools
import math
import warnings

from numba import cfunc
from scipy import LowLevelCallable
from scipy.integrate import IntegrationWarning, dblquad, quad
from scipy.optimize import fsolve

FAR = 11.0


@cfunc("double(int32, CPointer(double))")
def integrand(count, given):
    """One of the four averages at given = (w, z, r, d, s, cos, sin, y, which), weighed by the normal density of w."""
    w, z, r, d, s, cos, sin, y, which = (given[0], given[1], given[2], given[3], given[4], given[5], given[6], given[7],
                                         given[8])  # fmt: skip
    u, v = z * cos - w * sin, z * sin + w * cos
    c = 1.0 - y * (r * u + d * v)
    x = c / s
    phi = math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    below = 0.5 * math.erfc(-x / math.sqrt(2.0))
    if which == 0.0:  # Pr(t < 1)
        value = below
    elif which == 1.0:  # E (1 - t)_+^2
        value = (c * c + s * s) * below + c * s * phi
    elif which == 2.0:  # E (1 - t)_+ y u
        value = (c * below + s * phi) * y * u
    else:  # E (1 - t)_+ y v
        value = (c * below + s * phi) * y * v
    return value * math.exp(-0.5 * w * w) / math.sqrt(2 * math.pi)


INTEGRAND = LowLevelCallable(integrand.ctypes)


def adaptive(function, start, end, cuts, args=()):
    """QUADPACK between cuts, asked for twelve digits; where rounding stops it earlier it warns, and has ten or more."""
    stops = [start, *sorted(c for c in cuts if start < c < end), end]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)
        return sum(
            quad(function, a, b, args=args, epsrel=1e-12, epsabs=1e-16, limit=200)[0]
            for a, b in itertools.pairwise(stops)
        )


def moments(r, d, s, low, high, keep, theta):
    """P, E(1-t)+^2, E[(1-t)+ y u], E[(1-t)+ y v] of kept examples."""
    cos, sin = math.cos(theta), math.sin(theta)
    slope = d * cos - r * sin
    width = s / abs(slope) if slope else FAR
    top = min(high, math.sqrt(low * low + 90.0))
    length = (1.0 + 8.0 * math.hypot(s, slope)) / max(r * cos + d * sin, 1e-3)

    def line(z, which):
        edge = min(FAR, z * cos / sin) if sin > 0 else FAR
        total = 0.0
        for start, end, y in ((-FAR, edge, 1.0), (edge, FAR, -1.0)):
            ramp = (y - z * (r * cos + d * sin)) / slope if slope else FAR
            if end > start:
                cuts = (ramp - 6 * width, ramp, ramp + 6 * width, 0.0)
                total += adaptive(INTEGRAND, start, end, cuts, (z, r, d, s, cos, sin, y, which))
        return total * 2.0 * math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) / keep

    cuts = (8.0 * math.tan(theta), math.tan(theta), low + 0.3, length, 0.1 * length)
    return [adaptive(line, low, top, cuts, (float(which),)) for which in range(4)]


def conditions(x, alpha, low, high, keep, theta):
    r, d, s = math.exp(x[0]), x[1] * math.exp(x[0]), math.exp(x[2])
    p, two, eu, ev = moments(r, d, s, low, high, keep, theta)
    return [
        math.log(alpha * two / (s * s)),
        1.0 - alpha * p - alpha * eu / r,
        (x[1] * (1.0 - alpha * p) - alpha * ev / r) if theta > 0 else x[1],
    ]


def solve(alpha, low, high, keep, angle, start):
    """The error by quadrature, from a starting (r, d, s); raises if the root finder gives up."""
    r, d, s = start
    found, _, outcome, why = fsolve(
        conditions,
        [math.log(r), d / r, math.log(s)],
        args=(alpha, low, high, keep, math.radians(angle)),
        xtol=1e-11,
        full_output=True,
    )
    if outcome not in (1, 4, 5):
        raise ArithmeticError(why)
    ratio, noise = found[1], math.exp(found[2] - found[0])
    return math.atan2(math.hypot(ratio, noise), 1.0) / math.pi


def plain_conditions(x, alpha, low, high, keep, theta):
    """Eqs. 1 to 3 of the paper (at angle 0: 66 and 67) as they stand, each integral by dblquad: the usual way.

    x is (R, rho, kappa), or (R, kappa) at angle 0. This is the baseline of benchmarks/theory.py.
    """
    top = min(high, 8.0)

    def p(z):
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) / keep

    def H(t):
        return 0.5 * math.erfc(t / math.sqrt(2))

    def over(f):
        return dblquad(lambda t, z: f(t, z) * p(z), low, top, lambda z: kappa - 10.0, lambda z: kappa)[0]

    if theta == 0.0:
        R, kappa = x
        S = 1 - R * R

        def gauss(t, z):
            return math.exp(-((t - R * z) ** 2) / (2 * S)) / math.sqrt(2 * math.pi * S)

        return [
            R - 2 * alpha * over(lambda t, z: gauss(t, z) * (z - R * t) / S * (kappa - t)),
            S - 2 * alpha * over(lambda t, z: gauss(t, z) * (kappa - t) ** 2),
        ]
    R, rho, kappa = x
    cos, sin = math.cos(theta), math.sin(theta)
    S = 1 - rho * rho
    lam = math.sqrt(sin**2 - R * R - rho * rho + 2 * rho * R * cos)

    def delta(t, z):
        return z * z * (rho**2 + cos**2 - 2 * rho * R * cos) + 2 * t * z * (R * cos - rho) + t * t * sin**2

    def bell(t, z):
        gamma = z * (rho * R - cos) - t * (R - rho * cos)
        return math.exp(-((t - rho * z) ** 2) / (2 * S)) / math.sqrt(2 * math.pi * S) * H(gamma / (math.sqrt(S) * lam))

    def edge(t, z):
        return math.exp(-delta(t, z) / (2 * lam**2))

    def mirrored(f):  # z runs over both signs; the integrands are not even in it
        return over(f) + over(lambda t, z: f(t, -z))

    third = mirrored(
        lambda t, z: (
            2 * bell(t, z) * (z - rho * t) / S * (kappa - t)
            + 2 * edge(t, z) / (2 * math.pi * lam) * (rho * R - cos) / S * (kappa - t)
        )
    )
    return [
        (R - rho * cos) / sin**2 - alpha / (math.pi * lam) * mirrored(lambda t, z: edge(t, z) * (kappa - t)),
        1
        - (rho**2 + R * R - 2 * rho * R * cos) / sin**2
        - 2 * alpha * mirrored(lambda t, z: bell(t, z) * (kappa - t) ** 2),
        (rho - R * cos) / sin**2 - alpha * third,
    ]


def plain_solve(alpha, low, high, keep, angle, start):
    """The error by dblquad and fsolve from a start near the root, as the paper's notebook would."""
    found = fsolve(plain_conditions, start, args=(alpha, low, high, keep, math.radians(angle)))
    return math.acos(found[0]) / math.pi
