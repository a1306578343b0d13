"""The angle between a probe and the truth, from the agreement of two independent probes.

Two probes trained on disjoint data, each at angle theta to the teacher, give an example the margins

    m_i = |u| cos(theta) + w_i sin(theta),    u, w_1, w_2 independent standard normals,

so the rank correlation of their margins determines theta. This holds for the theory's probes, whose errors are
independent. Real probes share their architecture and its biases: they also agree where both are wrong, and then the
angle found is smaller than the true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["angle_of", "margin_agreement"]

Array = NDArray[np.float64]


def margin_agreement(angle: float) -> float:
    """Spearman correlation of the margins that two independent probes at `angle` degrees give the same examples.

    Given |u| = s the margins are independent, so it is 12 E[G(s)^2] - 3 with G(s) the expected rank of an example at
    s. G is a skew normal distribution function, Phi(x) - 2 T(x, shape) with Owen's T; one integral over s is left.

    Parameters
    ----------
    angle
        Degrees between each probe and the teacher, from 0 to 90.
    """
    from scipy.special import ndtr, owens_t

    if angle <= 0.0:
        return 1.0
    if angle >= 90.0:
        return 0.0
    theta = math.radians(angle)
    # The rank rises over a width of tan(theta); panels that shrink towards 0 resolve it at any angle.
    edges = np.concatenate([[0.0], np.geomspace(min(0.1 * math.tan(theta), 1.0), 10.0, 13)])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    s = ((edges[1:] + edges[:-1])[:, None] + np.diff(edges)[:, None] * nodes).ravel() / 2
    mass = (np.diff(edges)[:, None] * weights).ravel() / 2 * math.sqrt(2 / math.pi) * np.exp(-(s**2) / 2)
    x = s * math.cos(theta) / math.sqrt(1 + math.sin(theta) ** 2)
    rank = ndtr(x) - 2 * owens_t(x, 1 / (math.sqrt(2) * math.tan(theta)))
    return float(12 * (mass @ rank**2) - 3)


def angle_of(reliability: ArrayLike) -> Array:
    """The angle in degrees at which two independent probes agree as measured: the inverse of `margin_agreement`.

    Parameters
    ----------
    reliability
        Rank correlations; 0 and below give 90 degrees.
    """
    found = np.clip(np.asarray(reliability, dtype=np.float64), 0.0, 1.0)
    return np.asarray(np.clip(_angles()(np.arccos(np.sqrt(found))), 0.0, 90.0))


@cache
def _angles() -> Callable[[Array], Array]:
    """Angle as a function of arccos(sqrt(reliability)), which is smooth at both ends, unlike reliability itself."""
    from scipy.interpolate import PchipInterpolator

    degrees = np.concatenate([[0.0], np.geomspace(0.05, 1.0, 15)[:-1], np.arange(1.0, 90.01, 0.5)])
    agreement = np.clip([margin_agreement(angle) for angle in degrees], 0.0, 1.0)
    return PchipInterpolator(np.arccos(np.sqrt(agreement)), degrees)  # type: ignore[no-any-return]
