"""The best window, the best fraction, the frontier; and the question without an answer."""

from __future__ import annotations

import numpy as np
import pytest

from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.theory import Window, best_keep, frontier, optimal_window, solve


@pytest.mark.parametrize(
    ("alpha", "a", "b", "error"),
    [(1, 1.146, 1.944, 0.12913), (2, 0.595, 0.932, 0.06148), (3, 0.154, 0.416, 0.03428)],
)
def test_optimal_window_reference(alpha, a, b, error):
    best = optimal_window(alpha, 0.2)
    assert (best.a, best.b) == (pytest.approx(a, abs=1e-3), pytest.approx(b, abs=1e-3))
    assert best.error == pytest.approx(error, abs=6e-6)
    assert best.policy.keep == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "keep", "angle"), [(0.3, 0.2, 0), (2, 0.2, 15), (4, 0.5, 0), (30, 0.1, 0), (8, 0.3, 30)]
)
def test_optimal_window_equals_a_fine_scan(alpha, keep, angle):
    best = optimal_window(alpha, keep, angle)
    scan = [solve(alpha, angle=angle, policy=Window.dropping(h, keep)).error for h in np.linspace(0, 1 - keep, 400)]
    assert best.error <= min(scan) * (1 + 1e-9)
    assert best.error >= min(scan) * (1 - 1e-2)
    assert best.error <= min(best.hard_error, best.easy_error) * (1 + 1e-12)


def test_with_all_kept_there_is_one_window():
    best = optimal_window(3, 1.0)
    assert best.a == 0
    assert best.error == pytest.approx(solve(3).error, rel=1e-12)


@pytest.mark.parametrize(("alpha", "keep"), [(3, 0.278), (5, 0.189), (10, 0.132), (100, 0.0548)])
def test_best_keep_of_an_imperfect_probe(alpha, keep):
    best = best_keep(alpha, angle=10)
    assert best.keep == pytest.approx(keep, rel=5e-3)
    assert best.bound == "interior"
    for other in (0.9, 1.1):
        assert solve(alpha, best.keep * other, 10).error > best.error
    assert best.error < best.random_error


def test_four_examples_per_dimension_are_as_good_as_a_hundred():
    """METHODS: error of the pruned over that of all, at a total of 100."""
    for alpha, ratio in ((2.5, 1.21), (3, 1.057), (4, 1.005), (5, 1.0003)):
        best = best_keep(alpha, total=100)
        assert best.keep == alpha / 100
        assert best.bound == "total"
        assert best.error / best.full_error == pytest.approx(ratio, abs=5e-3 if alpha < 4 else 1e-4)


def test_how_much_of_a_total_can_go():
    loose, tight = best_keep(total=100, within=0.1), best_keep(total=100, within=0.001)
    assert loose.keep < tight.keep < 1
    for best, within in ((loose, 0.1), (tight, 0.001)):
        assert best.bound == "within"
        assert best.error == pytest.approx((1 + within) * best.full_error, rel=1e-6)
    assert best_keep(total=100, angle=10).keep > tight.keep
    assert best_keep(total=100, smallest=0.5).keep == 0.5


def test_few_examples_leave_nothing_to_spare():
    best = best_keep(total=1.0, within=1e-6)
    assert best.keep > 0.9


def test_the_question_without_an_answer_is_refused_with_the_reason():
    for ask in (lambda: best_keep(3), lambda: frontier([3.0])):
        with pytest.raises(
            InputError, match=r"total .* or smallest .* of .* must be given.* falls with the fraction all the way to 0"
        ):
            ask()
    with pytest.raises(InputError, match=r"alpha or total of .* must be given"):
        best_keep(angle=10)


def test_below_two_the_question_has_an_answer():
    for alpha in (0.5, 1.0, 1.9):
        best = best_keep(alpha)
        assert best.bound in ("interior", "all")
        assert best.error <= solve(alpha).error
        assert best.error <= min(solve(alpha, keep).error for keep in (0.9, 0.5, 0.2, 0.05, 0.01)) * (1 + 1e-9)


def test_limits_are_kept_however_small():
    assert best_keep(5, smallest=1e-6).keep == 1e-6
    assert best_keep(5, total=1e6).keep == 5e-6
    assert best_keep(5, total=1e6).bound == "total"
    assert best_keep(total=1e6).alpha == pytest.approx(3.72, abs=0.01)
    assert best_keep(5, angle=1e-9).bound == "flat"
    assert best_keep(5, angle=90).keep == 1.0  # a useless probe: less makes no difference, so keep what there is
    assert best_keep(total=1, within=1).keep < 1


def test_at_angle_zero_the_error_is_proportional_to_the_fraction():
    """Why that question has no answer: eps / f tends to a constant above alpha = 2."""
    ratio = [solve(5, keep).error / keep for keep in (1e-2, 1e-3, 1e-4)]
    assert ratio[1] == pytest.approx(ratio[2], rel=1e-4)
    assert ratio[0] == pytest.approx(ratio[2], rel=1e-2)


def test_frontier_takes_the_best_fraction_at_each_size():
    points = [0.5, 2.5, 4.0, 20.0]
    found = frontier(points, total=100)
    assert found.keep[1:] == pytest.approx([0.025, 0.04, 0.2])
    assert found.keep[0] > 0.9  # below the crossover hard examples are worse than random ones
    assert (found.error <= found.random_error * (1 + 1e-12)).all()
    assert found.error[-1] == pytest.approx(solve(100).error, rel=1e-3)
    least = frontier([5.0], smallest=0.1)
    assert least.keep[0] == 0.1


def test_windows_lower_the_frontier_where_hard_fails():
    points = [0.5, 1.5]
    hard, easy, window = (frontier(points, smallest=0.1, policy=p).error for p in ("hard", "easy", "window"))
    assert (window <= np.minimum(hard, easy) * (1 + 1e-6)).all()
    assert (window < 0.9 * hard).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: best_keep(0, total=10), "alpha of best_keep"),
        (lambda: best_keep(20, total=10), "alpha of best_keep must be at most total=10; got 20."),
        (lambda: best_keep(2, total=float("nan")), "total of best_keep"),
        (lambda: best_keep(2, smallest=0), "smallest of best_keep"),
        (lambda: best_keep(2, angle=120), "angle of best_keep"),
        (lambda: best_keep(total=10, within=0), "within of best_keep"),
        (lambda: frontier([], total=10), "alphas of frontier must not be empty"),
        (lambda: frontier([1, -1], total=10), "alphas of frontier"),
        (lambda: frontier([1, 20], total=10), "alpha of frontier must be at most"),
        (lambda: optimal_window(0, 0.2), "alpha of optimal_window"),
        (lambda: optimal_window(1, 0), "keep of optimal_window"),
        (lambda: optimal_window(1, 0.5, -3), "angle of optimal_window"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InputError) as caught:
        call()
    assert words in str(caught.value)


def test_an_unknown_frontier_is_refused():
    with pytest.raises(UnknownNameError, match="nearest: 'window'"):
        frontier([1.0], total=10, policy="windows")
