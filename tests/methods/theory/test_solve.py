"""The saddle point against quadrature, the reference values, and a cold start everywhere."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import theory as twin
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.theory import Window, asymptotic_prefactor, learning_curve, solve, window
from winnow.methods.theory.averages import BREAKS, MOMENTS, moments
from winnow.methods.theory.policies import interval

# METHODS 1.3, exact to the digits shown: (alpha, keep, angle, policy) -> error
REFERENCE = {
    (2, 0.5, 0, "hard"): 0.136097,
    (3, 0.1, 0, "hard"): 0.017568,
    (5, 0.2, 0, "hard"): 0.019967,
    (0.5, 1, 0, "hard"): 0.328850,
    (1, 1, 0, "hard"): 0.265711,
    (2, 1, 0, "hard"): 0.188479,
    (5, 1, 0, "hard"): 0.093827,
    (10, 1, 0, "hard"): 0.049183,
    (5, 0.1, 10, "hard"): 0.065391,
    (3, 0.2, 20, "hard"): 0.260973,
    (5, 0.5, 40, "hard"): 0.078933,
    (1, 0.2, 0, "easy"): 0.134590,
    (2, 0.2, 0, "easy"): 0.083958,
}


def middle(keep):
    """A window in the middle of what a fraction leaves to choose."""
    return Window.dropping(0.4 * (1 - keep), keep)


def policies(keep):
    return ("hard", "easy", middle(keep)) if keep < 1 else ("hard",)


def start_near(found):
    """(r, d, s) of a solution, moved off it so that the twin must find its own way back (the root is unique).

    By a thousandth, and less where the student's noise is small against its length: the conditions are steep there.
    """
    theta = math.radians(found.angle)
    across = (found.rho - found.R * math.cos(theta)) / math.sin(theta) if theta else 0.0
    noise = math.sqrt(math.sin(math.pi * found.error) ** 2 - across**2)
    off = 1e-3 * min(1.0, noise / found.R)
    return (1 + off) * found.R / found.kappa, (1 - off) * across / found.kappa, 0.999 * noise / found.kappa


@pytest.mark.parametrize(("asked", "error"), REFERENCE.items(), ids=str)
def test_reference_values(asked, error):
    assert solve(*asked).error == pytest.approx(error, abs=6e-7)


GRID = [
    (alpha, keep, angle, policy)
    for alpha, keep, angle in itertools.product((0.1, 1.0, 3.0, 30.0, 1000.0), (0.01, 0.1, 0.5, 1.0), (0, 10, 20, 60))
    if keep < 1 or angle == 0
    for policy in policies(keep)
]


@pytest.mark.parametrize(("alpha", "keep", "angle", "policy"), GRID, ids=str)
def test_equals_adaptive_quadrature(alpha, keep, angle, policy):
    found = solve(alpha, 1.0 if isinstance(policy, Window) else keep, angle, policy)
    low, high, kept = interval("test", policy, keep)
    slow = twin.solve(alpha, low, high, kept, angle, start_near(found))
    assert found.error == pytest.approx(slow, rel=1e-8)


@pytest.mark.parametrize(("alpha", "keep", "angle"), [(3, 0.2, 0), (3, 0.2, 20), (5, 0.5, 40)])
def test_equations_1_to_3_are_right_as_printed(alpha, keep, angle):
    found = solve(alpha, keep, angle)
    low, high, kept = interval("test", "hard", keep)
    at = (found.R, found.kappa) if angle == 0 else (found.R, found.rho, found.kappa)
    left = twin.plain_conditions(at, alpha, low, high, kept, math.radians(angle))
    assert np.abs(left).max() < 1e-7


def test_averages_equal_a_crowd():
    rng = np.random.default_rng(0)
    M, beta, sigma, theta = 2.0, -0.3, 1.1, math.radians(35)
    low, high, keep = interval("test", window(0.3, 1.4), 1.0)
    u, v, g = rng.standard_normal((3, 2_000_000))
    kept = (low < abs(u * math.cos(theta) + v * math.sin(theta))) & (
        abs(u * math.cos(theta) + v * math.sin(theta)) < high
    )
    u, v, g = u[kept], v[kept], g[kept]
    x = np.sign(u) * (u * math.cos(beta) + v * math.sin(beta))
    y = np.sign(u) * (v * math.cos(beta) - u * math.sin(beta))
    tau = M * x + sigma * g
    short, below, c = np.maximum(1 - tau, 0), tau < 1, (1 - M * x) / sigma
    phi = np.exp(-0.5 * c * c) / math.sqrt(2 * math.pi)
    crowd = [
        short**2,
        short * x,
        short * y,
        below,
        below * x * x,
        below * x * y,
        below * y * y,
        phi * x,
        phi * y,
        phi * c,
    ]
    got = np.empty(MOMENTS)
    moments(M, beta, sigma, low, high, keep, theta, got, np.empty(BREAKS), np.empty(3))
    for exact, values in zip(got, crowd, strict=True):
        assert abs(exact - values.mean()) < 4.5 * values.std() / math.sqrt(values.size)


def test_no_point_fails_from_a_cold_start():
    alphas, angles = np.geomspace(0.1, 1000, 13), (0, 0.01, 1, 5, 10, 20, 30, 45, 60, 75, 90)
    for keep, angle in itertools.product((0.01, 0.03, 0.1, 0.3, 0.6, 0.95, 1.0), angles):
        for policy, alpha in itertools.product(policies(keep), alphas):
            found = solve(alpha, 1.0 if isinstance(policy, Window) else keep, angle, policy)
            assert 0 < found.error < 0.5
            assert found.kappa > 0


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-1, 3),
    st.floats(-2, 0),
    st.floats(0, 90),
    st.sampled_from(["hard", "easy", "random", "window"]),
    st.floats(0, 1),
)
def test_any_point_solves_its_conditions(log_alpha, log_keep, angle, policy, place):
    alpha, keep = 10**log_alpha, 10**log_keep
    chosen = Window.dropping(place * (1 - keep) * 0.98, keep) if policy == "window" else policy
    found = solve(alpha, 1.0 if policy == "window" else keep, angle, chosen)
    low, high, kept = interval("test", chosen, 1.0 if policy == "window" else keep)
    theta = 0.0 if policy == "random" else math.radians(angle)
    across = (found.rho - found.R * math.cos(theta)) / math.sin(theta) if theta > 1e-6 else 0.0
    noise = math.sqrt(max(math.sin(math.pi * found.error) ** 2 - across**2, 1e-30))
    got = np.empty(MOMENTS)
    in_plane = math.hypot(found.R, across)
    state = in_plane / found.kappa, math.atan2(across, found.R), noise / found.kappa
    moments(*state, low, high, kept, theta, got, np.empty(BREAKS), np.empty(3))
    assert alpha * got[0] == pytest.approx((noise / found.kappa) ** 2, rel=1e-3)  # rho carries the rounding of `across`
    assert alpha * got[3] < 1


@pytest.mark.parametrize(
    ("keep", "angle", "policy"), [(0.5, 40, "hard"), (0.05, 0, "hard"), (0.2, 10, "easy"), (1, 0, "hard")]
)
@pytest.mark.parametrize("points", [9, 60, 700])
def test_a_curve_continued_from_its_last_points_is_its_points(keep, angle, policy, points):
    even = np.geomspace(0.05, 2000, points)
    uneven = np.sort(np.concatenate([even, even[::7] * 1.0001, even[::5]]))  # close ones, and some twice
    curve = learning_curve(uneven, keep, angle, policy)
    cold = [solve(alpha, keep, angle, policy) for alpha in uneven[::3]]
    for name in ("R", "rho", "kappa", "error"):
        assert np.allclose(getattr(curve, name)[::3], [getattr(one, name) for one in cold], rtol=1e-9, atol=0)


def test_a_curve_is_its_points():
    alphas = np.geomspace(0.2, 500, 17)[:, None, None]
    keeps, angles = np.array([0.05, 0.4, 1.0])[:, None], np.array([0.0, 15.0])
    curve = learning_curve(alphas, keeps, angles)
    assert curve.error.shape == (17, 3, 2)
    for i, j, k in itertools.product((0, 5, 9, 16), range(3), range(2)):
        point = solve(alphas[i, 0, 0], keeps[j, 0], angles[k])
        assert curve.error[i, j, k] == pytest.approx(point.error, rel=1e-9)
        assert curve.rho[i, j, k] == pytest.approx(point.rho, rel=1e-8)


def test_order_of_alphas_does_not_matter():
    alphas = np.geomspace(0.5, 50, 9)
    shuffled = np.random.default_rng(0).permutation(9)
    there, back = learning_curve(alphas, 0.2, 10), learning_curve(alphas[shuffled], 0.2, 10)
    np.testing.assert_allclose(back.error, there.error[shuffled], rtol=1e-10)
    same = learning_curve([2.0, 2.0, 2.0], 0.2)
    np.testing.assert_allclose(same.error, same.error[0], rtol=1e-13)


def test_without_pruning_the_probe_does_not_matter():
    assert solve(3, angle=50).error == solve(3).error == solve(3, 0.2, 50, "random").error
    assert solve(3, angle=50).rho == pytest.approx(solve(3).R * math.cos(math.radians(50)))


def test_small_angles_join_angle_zero():
    for policy in ("hard", "easy"):
        assert solve(4, 0.2, 1e-6, policy).error == pytest.approx(solve(4, 0.2, 0, policy).error, rel=1e-6)


def test_a_useless_probe_turns_no_student():
    """At 90 degrees labels and probe are independent: by symmetry the student leans to neither side of it."""
    for policy in ("hard", "easy"):
        found = solve(3, 0.3, 90, policy)
        assert found.rho == pytest.approx(0, abs=1e-9)


def test_easy_and_hard_cross_over():
    assert solve(0.5, 0.2, policy="easy").error < solve(0.5).error < solve(0.5, 0.2).error < 0.5
    assert solve(5, 0.2).error < solve(5, 0.2, policy="easy").error < solve(5).error


@pytest.mark.parametrize(("keep", "angle"), [(1.0, 0.0), (0.2, 0.0), (0.2, 10.0), (0.5, 40.0)])
def test_far_out_the_curve_is_the_power_law(keep, angle):
    assert 1e4 * solve(1e4, keep, angle).error == pytest.approx(asymptotic_prefactor(keep, angle), rel=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: solve(0), "alpha of solve must be a number above 0; got 0."),
        (lambda: solve(-1), "alpha of solve"),
        (lambda: solve(math.nan), "alpha of solve"),
        (lambda: solve(math.inf), "alpha of solve"),
        (lambda: solve("3"), "alpha of solve"),
        (lambda: solve(3, keep=0), "keep of solve must be a number in (0, 1]; got 0."),
        (lambda: solve(3, keep=1.5), "keep of solve"),
        (lambda: solve(3, keep=math.nan), "keep of solve"),
        (lambda: solve(3, angle=-1), "angle of solve must be a number in [0, 90]; got -1."),
        (lambda: solve(3, angle=91), "angle of solve"),
        (lambda: solve(3, policy="window"), "must give a window's ends"),
        (lambda: solve(3, 0.5, policy=window(0.1, 0.2)), "must agree with its window"),
        (lambda: window(1, 1), "b of window"),
        (lambda: window(-1, 1), "a of window"),
        (lambda: window(50, 60), "must have data between them"),
        (lambda: learning_curve([]), "alphas of learning_curve must not be empty"),
        (lambda: learning_curve([1, math.nan]), "alphas of learning_curve must be finite"),
        (lambda: learning_curve([1, 0]), "alphas of learning_curve"),
        (lambda: learning_curve([1, 2], keep=[0.5, 2]), "keep of learning_curve"),
        (lambda: learning_curve([1, 2], angle=[0, 100]), "angle of learning_curve"),
        (lambda: learning_curve([1, 2], keep=[0.1, 0.2, 0.3]), "must broadcast"),
        (lambda: learning_curve(["a"]), "alphas of learning_curve must be an array of numbers"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_policy_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="nearest: 'hard'"):
        solve(3, 0.5, policy="hardest")
