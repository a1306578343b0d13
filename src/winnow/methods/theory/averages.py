"""Averages over the kept examples, compiled: closed forms in two directions, quadrature in the third.

In the frame of the student's in-plane direction m (see `saddle`) the margin depends on x, the component along m, and on
noise; whether an example is kept, and its label, depend on x and on y, the component across m. On each line x = const
the kept examples with label +1 (the others are their mirror images) fill strips whose ends are where
z = x cos w + y sin w crosses the policy's interval and where u = x cos b - y sin b crosses 0. Panels of x are cut where
an end crosses the bulk of the Gaussian, where two ends meet, and where the margin crosses 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...core.jit import compiled, inlined

__all__ = ["BREAKS", "MOMENTS", "mass", "moments"]

Array = NDArray[np.float64]
_NODES, _WEIGHTS = (np.ascontiguousarray(a) for a in np.polynomial.legendre.leggauss(20))
_REACH = 7.5  # a smoothed step is flat to 1e-13 beyond this many of its widths
_NEAR = 0.3  # a panel may end this fraction of a width from where a step would have it
_DEPTH = 80.0  # twice the exponent at which Gaussian tails are dropped, beyond what the policy itself cuts off
_ROOT2 = math.sqrt(2.0)
_NORMAL = 1.0 / math.sqrt(2.0 * math.pi)
MOMENTS = 10
BREAKS = 24  # two ends; three each for the ramp, the teacher's boundary and four edges; four corners


@inlined
def _phi(t: float) -> float:
    return _NORMAL * math.exp(-0.5 * t * t)


@inlined
def mass(left: float, right: float) -> float:
    """Pr(left < y < right) for a standard normal y, accurate in both tails."""
    if left > 0.0:
        return 0.5 * (math.erfc(left / _ROOT2) - math.erfc(right / _ROOT2))
    if right < 0.0:
        return 0.5 * (math.erfc(-right / _ROOT2) - math.erfc(-left / _ROOT2))
    return 0.5 * (math.erf(right / _ROOT2) - math.erf(left / _ROOT2))


@inlined
def _ends(x: float, c: float, s: float, low: float, high: float) -> tuple[float, float]:
    """Where low < x c + y s < high holds, as an interval of y; empty intervals come out reversed."""
    if s == 0.0:
        inside = low < x * c < high
        return (-np.inf, np.inf) if inside else (np.inf, -np.inf)
    first = (low - x * c) / s
    second = (high - x * c) / s
    return (first, second) if s > 0.0 else (second, first)


@compiled
def _strip(x: float, cos_b: float, sin_b: float, c: float, s: float, low: float, high: float, out: Array) -> None:
    """Add Pr, E[y], E[y^2] of the part of the line x = const that a strip low < z < high, u > 0 contains."""
    left, right = _ends(x, c, s, low, high)
    above, below = _ends(x, cos_b, -sin_b, 0.0, np.inf)
    left = max(left, above)
    right = min(right, below)
    if left >= right:
        return
    p_left = _phi(left) if left > -40.0 else 0.0
    p_right = _phi(right) if right < 40.0 else 0.0
    inside = mass(left, right)
    out[0] += inside
    out[1] += p_left - p_right
    out[2] += inside + (left * p_left if p_left > 0.0 else 0.0) - (right * p_right if p_right > 0.0 else 0.0)


@compiled
def _add_step(breaks: Array, count: int, centre: float, width: float, lower: float, upper: float) -> int:
    """Add the begin, middle and end of a smoothed step, if in range and not close to a break already listed."""
    for side in (-1.0, 0.0, 1.0):
        at = centre + side * _REACH * width
        known = not lower < at < upper
        for i in range(count):
            known = known or abs(breaks[i] - at) <= _NEAR * width
        if not known:
            breaks[count] = at
            count += 1
        if width == 0.0:
            break
    return count


@compiled
def _panels(M: float, beta: float, sigma: float, low: float, high: float, theta: float, breaks: Array) -> int:
    """Write the sorted ends of the panels of x into `breaks`; return how many there are."""
    omega = theta - beta
    tan_b, tan_w, cos_w = abs(math.tan(beta)), abs(math.tan(omega)), max(abs(math.cos(omega)), 1e-300)
    far = math.sqrt(low * low + _DEPTH)
    upper = min(far, (1.0 + (_REACH + 1.0) * sigma) / M)
    lower = -min(far, far * tan_b)
    if high < np.inf:
        edge = high / cos_w + far * tan_w
        upper = min(upper, edge)
        lower = max(lower, -edge)
    if low > 0.0 and tan_w == 0.0 and tan_b == 0.0:
        lower = max(lower, low / cos_w)
    if upper <= lower:
        return 0
    breaks[0] = lower
    breaks[1] = upper
    count = _add_step(breaks, 2, 1.0 / M, sigma / M, lower, upper)
    count = _add_step(breaks, count, 0.0, tan_b, lower, upper)
    for end in (low, high):
        if 0.0 < end < np.inf:
            for side in (-1.0, 1.0):
                count = _add_step(breaks, count, side * end / cos_w, tan_w, lower, upper)
                if end < far * math.sin(theta):  # the corner where this edge meets the teacher's boundary
                    count = _add_step(breaks, count, side * end / math.sin(theta) * math.sin(beta), 0.0, lower, upper)
    breaks[:count].sort()
    return count


@compiled
def moments(M: float, beta: float, sigma: float, low: float, high: float, keep: float, theta: float, out: Array,
             breaks: Array, line: Array) -> None:  # fmt: skip
    """Compute all averages that the conditions and their derivatives need.

    out: 0 E(1-tau)+^2, 1 E[(1-tau)+ x], 2 E[(1-tau)+ y], 3 P, 4 P_xx, 5 P_xy, 6 P_yy (averages of 1(tau<1) times
    1, x^2, xy, y^2), 7 E[phi x], 8 E[phi y], 9 E[phi c], with phi the normal density at c = (1 - M x)/sigma.
    """
    out[:] = 0.0
    count = _panels(M, beta, sigma, low, high, theta, breaks)
    cos_b, sin_b = math.cos(beta), math.sin(beta)
    c, s = math.cos(theta - beta), math.sin(theta - beta)
    sharp = sin_b == 0.0 and s == 0.0  # student, probe and teacher in line: the panels are the strip itself
    for panel in range(count - 1):
        half = 0.5 * (breaks[panel + 1] - breaks[panel])
        middle = 0.5 * (breaks[panel + 1] + breaks[panel])
        for node in range(_NODES.size):
            x = middle + half * _NODES[node]
            line[0] = line[1] = line[2] = 0.0
            if sharp:
                line[0] = line[2] = 1.0
            elif low > 0.0:
                _strip(x, cos_b, sin_b, c, s, low, high, line)
                _strip(x, cos_b, sin_b, c, s, -high, -low, line)
            else:
                _strip(x, cos_b, sin_b, c, s, -high, high, line)
            if line[0] <= 0.0:
                continue
            share = half * _WEIGHTS[node] * _phi(x) * (2.0 / keep)
            t = (1.0 - M * x) / sigma
            density = _phi(t)
            below = 0.5 * math.erfc(-t / _ROOT2)
            ramp = sigma * (t * below + density)
            q0, q1 = share * line[0], share * line[1]
            out[0] += q0 * sigma * sigma * ((t * t + 1.0) * below + t * density)
            out[1] += q0 * ramp * x
            out[2] += q1 * ramp
            out[3] += q0 * below
            out[4] += q0 * below * x * x
            out[5] += q1 * below * x
            out[6] += share * line[2] * below
            out[7] += q0 * density * x
            out[8] += q1 * density
            out[9] += q0 * density * t
