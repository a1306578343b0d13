import dataclasses
import math
import sys
import threading

import numpy as np
import pytest

from tests.oracles.max_margin import by_least_distance
from winnow.core.errors import DivergedError, InputError, UnknownNameError
from winnow.core.seeds import stream
from winnow.methods.theory.policies import window
from winnow.methods.theory.simulate import Extrapolation, extrapolate, simulate


def plain_draw(seed, N, number, kept, ranks, total, angle):
    """One draw written out: whole set, ranks, labels, student by another solver; returns error, R, rho, kappa."""
    rng = stream(seed, "simulate", N, number)
    z = rng.standard_normal(total)
    order = sorted(range(total), key=lambda i: abs(z[i]))
    chosen = [order[rank] for rank in ranks]
    rest = rng.standard_normal((kept, N))
    probe = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    across = np.array([-probe[1], probe[0]])
    rows = []
    for i, other in zip(chosen, rest, strict=True):
        x = other.copy()
        x[:2] = z[i] * probe + other[1] * across
        rows.append(x * np.sign(x[0]))
    w = by_least_distance(np.array(rows))
    unit = w / np.linalg.norm(w)
    return math.acos(unit[0]) / math.pi, unit[0], unit[:2] @ probe, 1 / np.linalg.norm(w)


@pytest.mark.parametrize(
    ("policy", "keep", "ranks", "total"),
    [
        ("hard", 0.25, range(60), 240),
        ("easy", 0.25, range(180, 240), 240),
        (window(0.31863936, 0.67448975), 0.25, range(60, 120), 240),  # the second quarter
        (window(0.67448975, math.inf), 0.5, range(60, 120), 120),
    ],
)
@pytest.mark.parametrize("angle", [0.0, 35.0])
def test_draws_equal_a_literal_twin(policy, keep, ranks, total, angle):
    got = simulate(2.0, keep, angle, N=30, draws=4, seed=3, policy=policy)
    twin = np.array([plain_draw(3, 30, k, 60, ranks, total, angle) for k in range(4)])
    assert (got.kept, got.total) == (60, total)
    np.testing.assert_allclose(got.errors, twin[:, 0], rtol=1e-9)
    means, spread = twin.mean(axis=0), twin.std(axis=0, ddof=1) / 2
    np.testing.assert_allclose([got.error, got.R, got.rho, got.kappa], means, rtol=1e-9)
    np.testing.assert_allclose(dataclasses.astuple(got.standard_errors), spread, rtol=1e-7)
    assert got.standard_error == got.standard_errors.error


def test_same_seed_same_bits_for_any_number_of_workers():
    alone = simulate(4.0, 0.5, 20.0, N=40, draws=9, seed=1, workers=1)
    for workers in (2, 5, None):
        crowd = simulate(4.0, 0.5, 20.0, N=40, draws=9, seed=1, workers=workers)
        np.testing.assert_array_equal(crowd.errors, alone.errors)
        assert crowd == alone
    assert simulate(4.0, 0.5, 20.0, N=40, draws=9, seed=2).error != alone.error


def test_more_draws_keep_the_first_ones_and_every_size_has_its_own():
    few, many = (simulate(1.0, N=20, draws=d).errors for d in (3, 6))
    np.testing.assert_array_equal(few, many[:3])
    assert len(np.unique(many)) == 6
    names = {stream(0, "simulate", N, 0).random() for N in (20, 40)}
    assert len(names) == 2


def test_draws_run_in_as_many_threads_as_asked(monkeypatch):
    module = sys.modules[simulate.__module__]
    seen, meeting = set(), threading.Barrier(3)
    solve = module.solve_rows

    def watched(rows):
        meeting.wait(timeout=30)  # passes only if three draws are under way at once
        seen.add(threading.get_ident())
        return solve(rows)

    monkeypatch.setattr(module, "solve_rows", watched)
    simulate(1.0, N=10, draws=6, workers=3)
    assert len(seen) == 3


def test_result_is_read_only_and_complete():
    got = simulate(1.5, 0.5, 10, N=12, draws=3, seed=7, policy="easy")
    assert (got.alpha, got.keep, got.angle, got.policy, got.N, got.draws, got.seed) == (1.5, 0.5, 10, "easy", 12, 3, 7)
    assert got.errors.shape == (3,)
    assert got.error == pytest.approx(got.errors.mean())
    with pytest.raises(ValueError, match="read-only"):
        got.errors[0] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        got.error = 0.0
    middle = window(0.5, 1.2)
    assert simulate(1.0, policy=middle, N=12, draws=2).keep == middle.keep


REFERENCE = [  # errors at N -> infinity, METHODS section 1.3
    (0.5, 1.0, 0.0, "hard", 0.328850),
    (2.0, 1.0, 0.0, "hard", 0.188479),
    (5.0, 1.0, 0.0, "hard", 0.093827),
    (5.0, 0.2, 0.0, "hard", 0.019967),
    (5.0, 0.5, 40.0, "hard", 0.078933),
    (2.0, 0.2, 0.0, "easy", 0.083958),
    (2.0, 0.2, 0.0, window(0.595, 0.932), 0.06148),
    (2.0, 0.3, 30.0, "random", 0.188479),
]


@pytest.mark.parametrize(("alpha", "keep", "angle", "policy", "expected"), REFERENCE)
def test_extrapolated_error_is_within_three_standard_errors_of_the_theory(alpha, keep, angle, policy, expected):
    limit = extrapolate(simulate(alpha, keep, angle, N=n, draws=d, policy=policy) for n, d in ((100, 60), (200, 40)))
    assert abs(limit.error - expected) < 3 * limit.standard_error
    assert limit.standard_error < 0.1 * expected  # else the line above would say nothing


def test_overlap_with_the_probe_follows_the_teacher_where_nothing_is_pruned():
    got = simulate(2.0, 1.0, 60.0, N=80, draws=80)
    assert abs(got.rho - got.R / 2) < 4 * got.standard_errors.rho
    assert abs(got.R - math.cos(math.pi * got.error)) < 0.01


def line(N, error, standard_error, seed=0, **change):
    base = simulate(1.0, N=10, draws=2)
    spread = dataclasses.replace(base.standard_errors, error=standard_error)
    return dataclasses.replace(base, N=N, error=error, seed=seed, standard_errors=spread, **change)


def test_extrapolation_equals_weighted_least_squares():
    sizes, errors, spread = np.array([50, 100, 400]), np.array([0.21, 0.19, 0.2]), np.array([0.004, 0.002, 0.003])
    got = extrapolate([line(int(n), e, s) for n, e, s in zip(sizes, errors, spread, strict=True)])
    design = np.column_stack([np.ones(3), 1 / sizes])
    covariance = np.linalg.inv(design.T @ np.diag(spread**-2) @ design)
    best = covariance @ design.T @ (errors / spread**2)
    assert [got.error, got.slope] == pytest.approx(best)
    assert [got.standard_error, got.slope_standard_error] == pytest.approx(np.sqrt(np.diag(covariance)))
    assert got.chi_square == pytest.approx(np.sum(((errors - design @ best) / spread) ** 2))
    assert (got.degrees, got.sizes) == (1, (50, 100, 400))
    assert got.p_value == pytest.approx(math.erfc(math.sqrt(got.chi_square / 2)))


def test_two_sizes_leave_no_lack_of_fit():
    got = extrapolate([line(200, 0.15, 0.01), line(100, 0.2, 0.01), line(100, 0.2, 0.01, seed=1)])
    assert isinstance(got, Extrapolation)
    assert got.error == pytest.approx(0.1)
    assert (got.chi_square, got.degrees, got.p_value) == (None, 0, None)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "at least two different N; got \\[\\]"),
        ([(100, 0.2, 0.01)], "at least two different N; got \\[100\\]"),
        ([(100, 0.2, 0.01), (100, 0.2, 0.01, 1)], "at least two different N"),
        ([(100, 0.2, 0.01), (100, 0.2, 0.01), (200, 0.2, 0.01)], "must be independent; two have the same N and seed"),
        ([(100, 0.2, 0.01), (200, 0.2, 0.0)], "those at N=200 are all the same"),
    ],
)
def test_extrapolate_refuses(given, sentence):
    with pytest.raises(InputError, match=sentence):
        extrapolate([line(*item) for item in given])


@pytest.mark.parametrize("change", [{"alpha": 2.0}, {"keep": 0.5}, {"angle": 1.0}, {"policy": "easy"}])
def test_extrapolate_refuses_different_points(change):
    with pytest.raises(InputError, match="must share alpha, keep, angle and policy; got 2 different points"):
        extrapolate([line(100, 0.2, 0.01), line(200, 0.2, 0.01, **change)])


def test_extrapolate_refuses_other_things():
    with pytest.raises(InputError, match="must be results of simulate; got float"):
        extrapolate([0.1, 0.2])
    with pytest.raises(InputError, match="must be results of simulate; got int"):
        extrapolate(3)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"alpha": 0.0}, "alpha of simulate must be a number above 0; got 0"),
        ({"alpha": math.nan}, "alpha of simulate must be a number above 0; got nan"),
        ({"alpha": math.inf}, "alpha of simulate must be a number above 0; got inf"),
        ({"alpha": [1.0]}, "alpha of simulate must be a number above 0"),
        (
            {"alpha": 0.01},
            "alpha \\* N of simulate must round to at least one .*; got alpha=0.01 and N=20",
        ),
        ({"alpha": 1e8}, "alpha, keep and N of simulate may need at most"),
        ({"keep": 1e-7}, "alpha, keep and N of simulate may need at most"),
        ({"keep": 0.0}, "keep of simulate must be a number in \\(0, 1\\]; got 0"),
        ({"keep": 1.1}, "keep of simulate must be a number in \\(0, 1\\]; got 1.1"),
        ({"angle": -1}, "angle of simulate must be a number in \\[0, 90\\]; got -1"),
        ({"angle": 91}, "angle of simulate must be a number in \\[0, 90\\]; got 91"),
        ({"N": 1}, "N of simulate must be a whole number of at least 2; got 1"),
        ({"N": 20.5}, "N of simulate must be a whole number of at least 2"),
        ({"draws": 1}, "draws of simulate must be a whole number from 2 to 10000000; got 1"),
        ({"seed": -1}, "seed of simulate must be a whole number of at least 0; got -1"),
        ({"workers": 0}, "workers of simulate must be a whole number of at least 1; got 0"),
        ({"policy": "window"}, "policy of simulate must give a window's ends"),
        ({"policy": window(0.5, 1.0), "keep": 0.9}, "keep of simulate must agree with its window"),
    ],
)
def test_simulate_refuses(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        simulate(**{"alpha": 1.0, "N": 20, "draws": 2, **wrong})


def test_an_unknown_policy_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown policy of simulate 'heard' \\(nearest: 'hard'\\)"):
        simulate(1.0, N=20, draws=2, policy="heard")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_draw_that_cannot_be_solved_is_named(monkeypatch, workers):
    module = sys.modules[simulate.__module__]
    monkeypatch.setattr(module, "solve_rows", lambda rows: (rows[0], rows[:, 0], 2))
    with pytest.raises(DivergedError, match="simulate could not solve draw 0 exactly"):
        simulate(1.0, N=10, draws=3, workers=workers)


def test_smallest_problem():
    got = simulate(0.5, N=2, draws=2)
    assert (got.kept, got.total) == (1, 1)
    assert 0 < got.error < 0.5
