"""The information gain against its twins, its limits, and students counted in the version space."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from tests.oracles import information as oracle
from winnow.core.errors import InputError, WinnowError
from winnow.methods.theory import information
from winnow.methods.theory.information import information_gain
from winnow.methods.theory.policies import interval, window

T, WT = oracle.panels(np.linspace(-10, 10, 21))
WT = WT * np.exp(-T * T / 2) / math.sqrt(2 * math.pi)


def kept(policy, keep):
    low, high, _ = interval("test", policy, keep)
    return low, high


def psi(x):
    return np.exp(-x * x / 2 - log_ndtr(x)) / math.sqrt(2 * math.pi)


@cache
def counted(policy):
    """The gain measured in the version space at alpha 1, half kept, N = 40, and its standard error."""
    return oracle.measured_gain(1.0, *kept(policy, 0.5), N=40, draws=60, seed=3)


def hardest(keep):
    """Nodes of z and the density p(z) of the paper, for the fraction with the smallest margins."""
    gamma = kept("hard", keep)[1]
    z, w = oracle.panels(np.linspace(0, gamma, 4))
    return z, w * np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * keep)


def printed_72(R):
    log_h = log_ndtr(-math.sqrt(R / (1 - R)) * T)
    return -2 * WT @ (np.exp(log_h) * log_h)


def printed_73(alpha, keep, R):
    return math.log(1 - R) / 2 + R / 2 + printed_74(alpha, keep, R)


def printed_74(alpha, keep, R):
    z, p = hardest(keep)
    return 2 * alpha * WT @ log_ndtr(math.sqrt(R) * T[:, None] + R / math.sqrt(1 - R) * z) @ p


def printed_76(alpha, keep, R):
    gamma = kept("hard", keep)[1]
    ratio = math.sqrt(R / (1 - R))
    bracket = ndtr(-ratio * T) - ndtr(-(gamma + math.sqrt(R) * T) / math.sqrt(1 - R))
    return 2 * alpha / keep * WT @ (bracket * log_ndtr(-ratio * T))


def test_published_figures():
    found = information_gain(1.0, 0.5)
    assert (found.nats, found.q, found.R) == pytest.approx((0.8366, 0.559, 0.371), abs=5e-4)
    assert found.nats == pytest.approx(0.8366, abs=5e-5)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 5.0, 30.0])
def test_unpruned_is_classical(alpha):
    found = information_gain(alpha)
    assert found.q == pytest.approx(found.R, rel=1e-10)
    assert found.nats == pytest.approx(printed_72(found.R), rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "keep", "policy"),
    [(1.0, 0.5, "hard"), (0.5, 0.2, "hard"), (1.0, 1.0, "random"), (0.5, 0.4, "easy"), (0.7, 1.0, window(0.5, 1.2))],
)
def test_is_the_slope_of_the_entropy(alpha, keep, policy):
    slope = oracle.gain_by_difference(alpha, *kept(policy, keep))
    assert information_gain(alpha, keep, policy).nats == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize(
    ("alpha", "keep", "policy"),
    [
        (0.01, 0.001, "hard"),
        (1.9, 0.01, "hard"),
        (2.1, 0.01, "hard"),
        (1000.0, 0.01, "hard"),
        (1000.0, 1.0, "hard"),
        (0.01, 0.01, "easy"),
        (100.0, 0.5, "easy"),
        (1000.0, 0.001, "easy"),
        (30.0, 1.0, window(0.5, 1.2)),
        (3.0, 1.0, window(2.0, 2.001)),
    ],
)
def test_stationary_and_exact_by_brute_force(alpha, keep, policy):
    ends = interval("test", policy, keep)
    A, B = information._extremum(alpha, ends)  # q and R in double are too close to 1 to tell A and B from
    found = information_gain(alpha, keep, policy)
    assert found.q == pytest.approx((A**2 + B**2) / (1 + A**2 + B**2), rel=1e-14)
    assert pytest.approx(B / math.sqrt(1 + A**2 + B**2), rel=1e-14) == found.R
    assert alpha * oracle.mean(lambda x, z: psi(x) ** 2, A, B, *ends[:2]) == pytest.approx(A**2, rel=1e-10)
    pull = alpha * oracle.mean(lambda x, z: psi(x) * z, A, B, *ends[:2])
    assert pull == pytest.approx(B / (1 + A**2 + B**2), rel=1e-10)
    assert found.nats == pytest.approx(oracle.mean(lambda x, z: -log_ndtr(x), A, B, *ends[:2]), rel=1e-10)


@pytest.mark.parametrize("policy", ["hard", "easy", window(0.5, 1.2), window(0.0, 0.3), window(2.0, 2.001)])
def test_no_point_fails_from_a_cold_start(policy):
    alphas = np.array([0.01, 0.1, 0.5, 1.0, 1.5, 1.9, 1.99, 2.0, 2.01, 2.1, 3.0, 10.0, 100.0, 1000.0])
    keeps = [1.0, 0.3, 0.03, 0.001] if isinstance(policy, str) else [1.0]
    for keep in keeps:
        found = information_gain(alphas, keep, policy)
        # more data always brings students closer to each other and to the teacher: a wrong root would break the order
        assert (np.diff(found.q) > 0).all()
        assert (np.diff(found.R) > 0).all()
        assert (found.nats > 0).all()
        assert (found.q > found.R**2).all()
        assert (found.q < 1).all()


@pytest.mark.parametrize("keep", [1.0, 0.5, 0.1, 0.001])
def test_one_over_alpha_if_the_boundary_is_kept(keep):
    assert 1000 * information_gain(1000.0, keep).nats == pytest.approx(1.0, abs=1e-5)


def test_faster_than_one_over_alpha_if_it_is_not():
    alphas = np.array([10.0, 100.0, 1000.0])
    for policy in ("easy", window(0.5, 1.2)):
        scaled = alphas * information_gain(alphas, 0.5 if policy == "easy" else 1.0, policy).nats
        assert (np.diff(scaled) < 0).all()
        assert scaled[-1] < 0.1


def test_rises_as_fewer_are_kept():
    keeps = np.array([1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 0.001])
    gains = information_gain(np.array([[0.1], [1.0], [2.0], [2.5], [5.0]]), keeps).nats
    assert (np.diff(gains, axis=1) > 0).all()


@pytest.mark.parametrize("policy", ["hard", "easy"])
def test_agrees_with_counted_students(policy):
    measured, error = counted(policy)
    ours = information_gain(1.0, 0.5, policy).nats
    assert error < 0.015
    # finite size, from long runs of "hard": 0.825 (standard error 0.003) at N = 20, 0.833 (0.004) at N = 40, ours 0.837
    assert abs(measured - ours) < 3 * error + 0.4 / 40


def test_eqs_74_and_76_as_printed_disagree_with_counted_students():
    alpha, keep = 1.0, 0.5
    measured, error = counted("hard")
    for R in np.linspace(0.005, 0.995, 100):
        printed = printed_74(alpha, keep, R)
        assert printed == pytest.approx(printed_76(alpha, keep, R), rel=1e-8)
        assert printed < 0 < measured - 50 * error  # the sign
        # with the sign mended and alpha divided out, q = R is still wrong, whatever R is put in
        assert -printed / alpha < measured - 10 * error


def test_the_printed_alpha_is_spurious():
    # unpruned, where q = R does hold: 74 and 76 are Eq. 72 times -alpha, though the paper says they recover it
    for alpha in (0.3, 3.0):
        found = information_gain(alpha)
        nearly_all = 1 - 1e-12
        assert printed_74(alpha, nearly_all, found.R) == pytest.approx(-alpha * found.nats, rel=1e-8)
        assert printed_76(alpha, nearly_all, found.R) == pytest.approx(-alpha * found.nats, rel=1e-8)


def test_eq_73_as_printed_has_no_extremum_at_half():
    values = [printed_73(1.0, 0.5, R) for R in np.linspace(1e-4, 0.9999, 150)]
    assert (np.diff(values) < 0).all()


def test_shapes_and_kinds():
    single = information_gain(2, 0.5, "easy")
    assert all(isinstance(value, float) for value in (single.alpha, single.keep, single.nats, single.q, single.R))
    many = information_gain([[1.0], [2.0]], [0.2, 0.5, 1.0], "easy")
    assert many.alpha.shape == many.keep.shape == many.nats.shape == many.q.shape == many.R.shape == (2, 3)
    assert many.nats[1, 1] == single.nats
    assert not many.nats.flags.writeable
    slice_ = window(0.5, 1.2)
    assert information_gain(1.0, policy=slice_).keep == slice_.keep
    assert information_gain(1.0, policy="random").nats == information_gain(1.0).nats
    assert information_gain(1.0, 0.5, window(0.0, kept("hard", 0.5)[1])).nats == pytest.approx(
        information_gain(1.0, 0.5).nats, rel=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0,), "alpha of information_gain must be a number above 0; got 0"),
        ((-1.0,), "above 0; got -1"),
        ((math.nan,), "alpha of information_gain must be finite"),
        (([],), "alpha of information_gain must not be empty"),
        (("many",), "alpha of information_gain must be an array of numbers"),
        ((1.0, 0.0), r"keep of information_gain must be a number in \(0, 1\]; got 0"),
        ((1.0, 1.5), r"keep of information_gain must be a number in \(0, 1\]; got 1.5"),
        ((1.0, [0.1, math.nan]), "keep of information_gain must be finite"),
        (([1.0, 2.0], [0.1, 0.2, 0.3]), "must broadcast"),
        ((1.0, 0.5, "herd"), "unknown policy of information_gain"),
        ((1.0, 0.5, window(0.0, 0.1)), "must agree with its window"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(WinnowError, match=words):
        information_gain(*arguments)


def test_a_point_that_does_not_converge_is_refused(monkeypatch):
    monkeypatch.setattr(information, "_descend", lambda alpha, kept, start: None)
    with pytest.raises(InputError, match=r"found no extremum of the entropy at alpha=3, keep=0\.2"):
        information_gain(3.0, 0.2)
