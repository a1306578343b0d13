"""The limits at large alpha against the saddle equations, and Eq. 80 as printed against counted margins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, fsolve
from scipy.special import ndtr

from tests.oracles import information as oracle
from winnow.core.errors import WinnowError
from winnow.methods.theory.asymptotics import asymptotic_prefactor, minimum_keep, power_law_constant
from winnow.methods.theory.policies import interval, window


def printed_80(gamma):
    """The left side of Eq. 80, said to be the mean squared margin of what is kept."""
    below = 1 - 2 * ndtr(-gamma)
    return 0.5 - math.exp(-(gamma**2) / 2) * gamma / (math.sqrt(2 * math.pi) * below)


def squared_margin(gamma, seed=0, count=400_000):
    """Mean of x^2 over normal margins with |x| < gamma, and its standard error, by counting."""
    x = np.random.default_rng(seed).standard_normal(count)
    squares = x[np.abs(x) < gamma] ** 2
    return squares.mean(), squares.std() / math.sqrt(squares.size)


def limit_of_saddle(keep, degrees, policy):
    """alpha * eps at alpha 200 and 400, with the correction of order 1 / alpha^2 removed."""
    low, high, _ = interval("test", policy, keep)
    start = (200 * power_law_constant() / asymptotic_prefactor(keep, degrees, policy), 0.0, 1.5)
    first, point = oracle.error_at_angle(200.0, low, high, degrees, start)
    second, _ = oracle.error_at_angle(400.0, low, high, degrees, (2 * point[0], point[1] / 2, point[2]))
    return (4 * 400 * second - 200 * first) / 3


def test_constant_solves_the_scaled_limit():
    def conditions(point):
        sigma, lam = point

        def squared(x):
            gap = (1 - x) / sigma
            return sigma**2 * ((1 + gap**2) * ndtr(gap) + gap * math.exp(-(gap**2) / 2) / math.sqrt(2 * math.pi))

        tight = {"epsabs": 1e-14, "epsrel": 1e-13}
        return [
            lam * quad(squared, 0, 15, **tight)[0] / sigma**2 - 1,
            lam * quad(lambda x: ndtr((1 - x) / sigma), 0, 15, **tight)[0] - 1,
        ]

    sigma, lam = fsolve(conditions, [1.5, 0.8], xtol=1e-14)
    assert power_law_constant() == pytest.approx(sigma * lam / math.sqrt(2 * math.pi), rel=1e-12)
    assert power_law_constant() == pytest.approx(0.5004889, abs=5e-8)


@pytest.mark.parametrize(
    ("keep", "degrees", "policy"),
    [
        (1.0, 30.0, "random"),
        (0.3, 20.0, "hard"),
        (0.5, 40.0, "hard"),
        (0.05, 10.0, "hard"),
        (0.5, 40.0, "easy"),
        (1.0, 30.0, window(0.2, 0.9)),
    ],
)
def test_prefactor_is_the_limit_of_the_saddle(keep, degrees, policy):
    assert asymptotic_prefactor(keep, degrees, policy) == pytest.approx(
        limit_of_saddle(keep, degrees, policy), rel=3e-6
    )


def test_prefactor_at_the_ends():
    C = power_law_constant()
    assert asymptotic_prefactor(0.1, 0.0) == pytest.approx(0.1 * C, rel=1e-14)
    assert asymptotic_prefactor(0.1, 0.0, "easy") == math.inf
    assert asymptotic_prefactor(1.0, 0.0, window(0.1, 0.4)) == math.inf
    assert asymptotic_prefactor(1.0, 0.0, window(0.0, 0.4)) == pytest.approx(C * window(0.0, 0.4).keep, rel=1e-14)
    assert asymptotic_prefactor(0.3, 0.0, "random") == C
    assert asymptotic_prefactor(0.2, 1.0, "easy") == math.inf  # below the smallest float
    for policy in ("hard", "easy"):
        # a probe at right angles tells nothing
        assert asymptotic_prefactor(0.1, 90.0, policy) == pytest.approx(C, rel=1e-12)
    table = asymptotic_prefactor([0.1, 0.5, 1.0], [[0.0], [10.0]])
    assert table.shape == (2, 3)
    assert table[1, 1] == asymptotic_prefactor(0.5, 10.0)
    assert isinstance(asymptotic_prefactor(0.5, 10.0), float)


@pytest.mark.parametrize("degrees", [1.0, 10.0, 40.0])
def test_prefactor_falls_below_the_papers_bound(degrees):
    C, sine = power_law_constant(), math.sin(math.radians(degrees))
    values = asymptotic_prefactor(np.geomspace(1.0, 1e-7, 30), degrees)
    assert (np.diff(values) <= 0).all()
    assert (values >= C * sine * (1 - 1e-9)).all()
    assert values[-1] == pytest.approx(C * sine, rel=1e-6)
    assert values[-1] < 0.95 * C * minimum_keep(degrees)


def test_minimum_keep_published_figures():
    found = minimum_keep([5.0, 10.0, 20.0, 30.0, 40.0])
    np.testing.assert_allclose(found, [0.1202, 0.2378, 0.4563, 0.6407, 0.7832], atol=5e-5)


def test_minimum_keep_at_the_ends():
    assert minimum_keep(0.0) == 0.0
    assert minimum_keep(90.0) == 1.0
    for degrees in (1e-200, 1e-8, 1e-6, 1e-5):
        # sqrt(6 / pi) = 1.382; the first correction is of order angle^2
        assert minimum_keep(degrees) / math.radians(degrees) == pytest.approx(math.sqrt(6 / math.pi), rel=1e-13)
    around = minimum_keep(45.0 + np.array([-1e-9, 0.0, 1e-9]))
    np.testing.assert_allclose(np.diff(around), [around[2] - around[1]] * 2, rtol=1e-4)
    grid = minimum_keep(np.linspace(0.0, 90.0, 181))
    assert (np.diff(grid) >= 0).all()
    assert (np.diff(grid[:170]) > 0).all()
    assert (grid[1:-1] > np.sin(np.radians(np.linspace(0.0, 90.0, 181)))[1:-1]).all()
    assert grid.shape == (181,)


@pytest.mark.parametrize("degrees", [2.0, 20.0, 44.0, 46.0, 70.0])
def test_minimum_keep_gives_the_counted_margin(degrees):
    gamma = interval("test", "hard", minimum_keep(degrees))[1]
    counted, error = squared_margin(gamma)
    assert abs(counted - math.sin(math.radians(degrees)) ** 2) < 4 * error


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_eq_80_as_printed_is_not_the_counted_margin(gamma):
    counted, error = squared_margin(gamma)
    assert abs(counted - printed_80(gamma)) > 50 * error
    assert abs(counted - 2 * printed_80(gamma)) < 4 * error  # it is half of what it is said to be


def test_eq_80_as_printed_has_no_answer_beyond_45_degrees():
    values = np.array([printed_80(gamma) for gamma in np.linspace(0.01, 12, 500)])
    assert values.max() <= 0.5
    assert values.max() == pytest.approx(0.5, abs=1e-12)
    assert math.sin(math.radians(46.0)) ** 2 > 0.5


def test_eq_80_as_printed_is_a_root_of_two_too_large_for_small_angles():
    sine = math.sin(math.radians(1.0))
    gamma = brentq(lambda g: printed_80(g) - sine**2, 1e-3, 1.0, xtol=1e-14)
    assert math.erf(gamma / math.sqrt(2)) / minimum_keep(1.0) == pytest.approx(math.sqrt(2), rel=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: minimum_keep(-1.0), r"angle of minimum_keep must be a number of degrees in \[0, 90\]; got -1"),
        (lambda: minimum_keep([10.0, 91.0]), "got 91"),
        (lambda: minimum_keep(math.nan), "angle of minimum_keep must be finite"),
        (lambda: minimum_keep([]), "angle of minimum_keep must not be empty"),
        (lambda: asymptotic_prefactor(0.5, 100.0), "angle of asymptotic_prefactor"),
        (lambda: asymptotic_prefactor(0.0, 10.0), "keep of asymptotic_prefactor"),
        (lambda: asymptotic_prefactor(0.5, 10.0, "lucky"), "unknown policy of asymptotic_prefactor"),
        (lambda: asymptotic_prefactor([0.5, 0.2], [1.0, 2.0, 3.0]), "must broadcast"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(WinnowError, match=words):
        call()
