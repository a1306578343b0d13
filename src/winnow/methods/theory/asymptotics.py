"""The limit of large alpha: eps -> prefactor / alpha, and how far pruning can lower the prefactor.

**The constant.** Unpruned, at large alpha, the max-margin student is close to the teacher: J = R T + s e with R -> 1,
and both its margin kappa and s are small and of one order. Only examples within a few kappa of the teacher's boundary
bind. Their teacher margin is u = kappa x, with x spread evenly at density 2 phi(0) kappa = sqrt(2 / pi) kappa; put
s = kappa sigma and lam = sqrt(2 / pi) alpha kappa. Of the saddle-point equations, s^2 = alpha E(kappa - t)_+^2 becomes

    sigma^2 = lam int_0^inf E(1 - x - sigma g)_+^2 dx.

In R (1 - alpha P) = alpha E[(kappa - t)_+ u] the right side is of order kappa^2, so alpha P -> 1:

    1 = lam int_0^inf Phi((1 - x) / sigma) dx.

The error is eps = s / pi = sigma kappa / pi = C / alpha with C = sigma lam / sqrt(2 pi). Both integrals are elementary.
With c = 1 / sigma, and Phi and phi taken at c, the second says 1 = lam sigma (c Phi + phi), and the first says
1 = lam sigma ((c^3 + 3 c) Phi + (c^2 + 2) phi) / 3. Equate them: (1 - c^2) phi = c^3 Phi, and
C = 1 / (sqrt(2 pi) (c Phi + phi)).

**Pruned.** Pruning changes one thing in this limit, the density of kept examples at the teacher's boundary. An example
on it has the probe margin v sin(theta), v standard normal, so the density is multiplied by p / f with
p = Pr(low < |v| sin(theta) < high). The student's component towards the probe does not enter: on the boundary the label
is independent of the sign of v, so that component is smaller than kappa by a further order. Hence alpha eps -> C f / p.
Keeping hard examples, p = 1 - 2 H(gamma / sin(theta)), and f / p falls with f, to its infimum sin(theta).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammainc

from ...core import checks
from ...core.errors import InputError
from .policies import Window, interval, mass

__all__ = ["asymptotic_prefactor", "minimum_keep", "power_law_constant"]

_ROOT2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2.0 * math.pi)


@cache
def power_law_constant() -> float:
    """Return the constant C of eps -> C / alpha for unpruned data, 0.50049.

    The docstring of the module derives it.

    Returns
    -------
    float
        C.

    Examples
    --------
    >>> round(power_law_constant(), 5)
    0.50049
    """

    def condition(c: float) -> float:
        return (1.0 - c * c) * _density(c) - c**3 * _below(c)

    c = float(brentq(condition, 0.1, 1.0, xtol=1e-16, rtol=1e-15))
    return 1.0 / (_ROOT_2PI * (c * _below(c) + _density(c)))


def asymptotic_prefactor(keep: ArrayLike, angle: ArrayLike, policy: str | Window = "hard") -> Any:
    """Return the limit of alpha * eps at large alpha, where alpha is the number of kept examples per dimension.

    It is C f / p, with C the power-law constant, f the fraction kept and p the probability that an example on the
    teacher's boundary is kept. At angle 0 every such example has margin 0: a policy that keeps margin 0 has p = 1,
    and one that does not ("easy", a window that starts above 0) has p = 0 and the limit is infinite. No example then
    comes near the boundary, and the error falls more slowly than 1 / alpha, so no prefactor exists. The answer is
    also infinite where p is below the smallest float.

    Parameters
    ----------
    keep
        The fraction kept, in (0, 1]: a number or an array. A window defines its own fraction; pass 1 with it.
    angle
        The angle between probe and teacher in degrees, in [0, 90]: a number or an array that broadcasts.
    policy
        "hard", "easy", "random" or a `Window`.

    Returns
    -------
    float or numpy.ndarray
        The prefactor, with the shape that `keep` and `angle` broadcast to.

    Raises
    ------
    InputError
        If `keep`, `angle` or `policy` is out of range, or the shapes do not broadcast.

    Examples
    --------
    >>> round(asymptotic_prefactor(0.2, angle=10), 4)
    0.117
    """
    owner = "asymptotic_prefactor"
    angles = _angles(owner, angle)
    keeps = checks.array("keep", owner, keep, dtype=np.float64)
    try:
        shape = np.broadcast_shapes(keeps.shape, angles.shape)
    except ValueError:
        raise InputError(
            f"keep and angle of {owner} must broadcast; got shapes {keeps.shape} and {angles.shape}."
        ) from None
    ends = {value: interval(owner, policy, value) for value in np.unique(keeps).tolist()}
    pairs = zip(np.broadcast_to(keeps, shape).flat, np.broadcast_to(angles, shape).flat, strict=True)
    return _shaped([_prefactor(*ends[k], _sine(a)) for k, a in pairs], shape)


def minimum_keep(angle: ArrayLike) -> Any:
    """Return the fraction below which the paper expects pruning by an imperfect probe not to help: Eq. 80, corrected.

    It is the f at which the mean squared margin of kept examples along a perfect probe equals sin(angle)^2, the value
    that an imperfect probe cannot get below along the teacher:

        1 - 2 gamma exp(-gamma^2 / 2) / (sqrt(2 pi) (1 - 2 H(gamma))) = sin(angle)^2,   f = 1 - 2 H(gamma).

    For small angles f is 1.382 times the angle in radians. The paper presents this as a lower bound; it is only a
    heuristic. The exact prefactor of eps ~ 1 / alpha falls steadily with f, to the infimum C sin(angle) (see
    `asymptotic_prefactor`), which is less than C times this fraction at every angle below 90.

    Parameters
    ----------
    angle
        The angle between probe and teacher in degrees, in [0, 90]: a number or an array.

    Returns
    -------
    float or numpy.ndarray
        The fraction, with the shape of `angle`.

    Raises
    ------
    InputError
        If an angle lies outside [0, 90].

    Examples
    --------
    >>> round(minimum_keep(10), 4)
    0.2378
    """
    angles = _angles("minimum_keep", angle)
    return _shaped([_minimum(float(a)) for a in angles.flat], angles.shape)


def _angles(owner: str, angle: ArrayLike) -> NDArray[np.float64]:
    angles: NDArray[np.float64] = checks.array("angle", owner, angle, dtype=np.float64)
    wrong = (angles < 0.0) | (angles > 90.0)
    if wrong.any():
        raise InputError(f"angle of {owner} must be a number of degrees in [0, 90]; got {angles[wrong].flat[0]:g}.")
    return angles


def _shaped(values: list[float], shape: tuple[int, ...]) -> Any:
    return np.array(values).reshape(shape) if shape else values[0]


def _sine(degrees: float) -> float:
    return 1.0 if degrees == 90.0 else math.sin(math.radians(degrees))


def _density(x: float) -> float:
    return math.exp(-x * x / 2.0) / _ROOT_2PI


def _below(x: float) -> float:
    return 0.5 * math.erfc(-x / _ROOT2)


def _prefactor(low: float, high: float, fraction: float, sine: float) -> float:
    if sine == 0.0:
        p = 1.0 if low == 0.0 else 0.0
    else:
        p = mass(low / sine, high / sine)
    return power_law_constant() * fraction / p if p > 0.0 else math.inf


def _minimum(degrees: float) -> float:
    """Solve for gamma on the scale where the moment we want, or its distance from 1, has no cancellation."""
    if degrees in (0.0, 90.0):
        return degrees / 90.0
    sine = math.sin(math.radians(degrees))
    if sine < 1e-8:
        gamma = math.sqrt(3.0) * sine  # the next term is smaller by sine^2
    elif degrees <= 45.0:
        # E[x^2 given |x| < gamma] is a ratio of chi-square distributions; gamma / sine runs from sqrt(3) to 2.05

        def short(ratio: float) -> float:
            half = (ratio * sine) ** 2 / 2.0
            return float(gammainc(1.5, half) / gammainc(0.5, half)) / sine**2 - 1.0

        gamma = sine * float(brentq(short, 1.7, 2.2, xtol=1e-15, rtol=1e-15))
    else:
        cosine = math.sin(math.radians(90.0 - degrees))

        def left(gamma: float) -> float:
            return 2.0 * gamma * _density(gamma) / math.erf(gamma / _ROOT2) / cosine**2 - 1.0

        gamma = float(brentq(left, 1.0, 38.0, xtol=1e-15, rtol=1e-15))
    return math.erf(gamma / _ROOT2)
