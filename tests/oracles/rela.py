"""Slow, obvious twins of the relabelling room: Algorithm 1 as printed, and the one-parameter training of Appendix B."""

from __future__ import annotations

import math

import numpy as np


def algorithm_1(losses, every=1):
    """The step t whose loss makes lambda 0, each loss standing for `every` steps of the algorithm; None if none does.

    The printed loop, with what it keeps: l_s, l_f and lambda.
    """
    l_s, l_f, weight = 2.0, 1.0, 1
    for t, loss in enumerate(losses, 1):
        for _ in range(every):
            if weight == 1:
                l_c = loss
                l_f = 0.999 * l_f + 0.001 * l_c
                l_s = 0.99 * l_s + 0.01 * l_f
            if math.exp(-max(l_s - l_f, 0)) >= 0.995:
                weight = 0
        if weight == 0:
            return t
    return None


def one_parameter(sigma, rho, means, rate, start, steps, runs, rng):
    """Squared distances (runs,) of theta from its optimum after online SGD on (1 - y (x + theta))^2 / 2.

    With y = -1 or 1, x normal around the first or second mean, one fresh example a step (Appendix B.2). The label is
    rho of the best classifier's and 1 - rho of its own (Appendix C.1).
    """
    best = -sum(means) / 2
    theta = np.full(runs, float(start))
    for _ in range(steps):
        y = 2 * rng.integers(0, 2, runs) - 1
        x = np.where(y < 0, means[0], means[1]) + sigma * rng.standard_normal(runs)
        label = rho * np.sign(x + best) + (1 - rho) * y
        theta = theta - rate * (theta + x - label)
    return (theta - best) ** 2
