import numpy as np
import pytest

from tests.oracles.max_margin import by_all_subsets, by_least_distance
from winnow.core.errors import InputError
from winnow.methods.theory.max_margin import INSEPARABLE, SOLVED, max_margin, solve_rows


def teacher_rows(count, dimension, seed, thin=1.0):
    """Rows label * point of data that a teacher along the first axis labels; thin < 1 brings all close to its plane."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, dimension))
    rows[:, 0] = thin * np.abs(rows[:, 0])
    return rows


@pytest.mark.parametrize("thin", [1.0, 0.1, 0.003])
@pytest.mark.parametrize(
    ("count", "dimension"), [(1, 5), (7, 30), (30, 30), (31, 30), (60, 30), (150, 30), (900, 30), (50, 2), (9, 1)]
)
def test_equals_least_distance_programming(count, dimension, thin):
    for seed in range(3):
        rows = teacher_rows(count, dimension, seed, thin)
        expected = by_least_distance(rows)
        w, _, status = solve_rows(rows)
        assert status == SOLVED
        assert np.linalg.norm(w - expected) <= 1e-10 * np.linalg.norm(expected)


@pytest.mark.parametrize(("count", "dimension"), [(4, 2), (6, 3), (9, 3), (8, 4)])
def test_equals_search_through_all_subsets(count, dimension):
    outcomes = set()
    for seed in range(12):
        rows = np.random.default_rng(seed).standard_normal((count, dimension)) + 0.4
        expected = by_all_subsets(rows)
        w, _, status = solve_rows(rows)
        outcomes.add(status)
        if expected is None:
            assert status == INSEPARABLE
        else:
            assert status == SOLVED
            np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-10)
    assert outcomes == {SOLVED, INSEPARABLE}


@pytest.mark.parametrize(("count", "dimension", "thin"), [(100, 200, 1.0), (600, 120, 0.2), (1200, 120, 1.0)])
def test_conditions_of_optimality(count, dimension, thin):
    rows = teacher_rows(count, dimension, 5, thin)
    w, u, status = solve_rows(rows)
    margins = rows @ w
    assert status == SOLVED
    assert (u >= 0).all()
    assert margins.min() >= 1 - 1e-10
    np.testing.assert_allclose(margins[u > 0], 1.0, rtol=1e-10)
    np.testing.assert_allclose(rows.T @ u, w, rtol=0, atol=1e-10 * np.abs(w).max())
    assert u.sum() == pytest.approx(w @ w, rel=1e-10)  # no gap between the problem and its dual


def test_w_and_margin_scale_with_the_data():
    x = np.random.default_rng(1).standard_normal((40, 8))
    y = np.where(x[:, 0] > 0, 1, -1)
    w, margin = max_margin(x, y)
    assert margin == pytest.approx(np.min(y * (x @ w)) / np.linalg.norm(w), rel=1e-12)
    for scale in (1e-150, 3.0, 1e150):
        scaled, wider = max_margin(scale * x, y)
        np.testing.assert_allclose(scaled * scale, w, rtol=1e-11)
        assert wider == pytest.approx(scale * margin, rel=1e-11)


def test_copies_and_a_single_class():
    x = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, -1.0], [4.0, 0.0]])
    for repeats in (1, 7):
        w, margin = max_margin(np.tile(x, (repeats, 1)), np.ones(5 * repeats))
        np.testing.assert_allclose(w, [0.5, 0.0], atol=1e-14)
        assert margin == pytest.approx(2.0)


def test_many_ties_on_a_lattice():
    # nnls itself goes astray here, so the answer is proved by its multipliers instead
    rng = np.random.default_rng(3)
    for _ in range(300):
        count, dimension = rng.integers(1, 60), rng.integers(1, 8)
        rows = rng.integers(-1, 2, (count, dimension)).astype(float)
        rows[:, 0] = rng.integers(1, 3, count)
        w, u, status = solve_rows(rows)
        assert status == SOLVED
        assert (u >= 0).all()
        assert (rows @ w).min() >= 1 - 1e-12
        np.testing.assert_allclose(rows.T @ u, w, atol=1e-11)
        assert u.sum() == pytest.approx(w @ w, rel=1e-11)


def test_rows_of_very_different_length():
    rows = teacher_rows(80, 20, 2) * np.logspace(-4, 4, 80)[:, None]
    w, _, status = solve_rows(rows)
    assert status == SOLVED
    assert np.linalg.norm(w - by_least_distance(rows)) <= 1e-9 * np.linalg.norm(w)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1.0, 0.0], [-1.0, 0.0]]),
        np.zeros((3, 2)),
        np.array([[1.0, 2.0], [0.0, 0.0]]),
        np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]]),
        np.vstack([np.eye(6), -np.ones((1, 6))]),
        np.random.default_rng(0).standard_normal((500, 40)),
        np.repeat(np.random.default_rng(0).standard_normal((60, 10)), 3, axis=0),
    ],
)
def test_data_that_cannot_be_separated_are_refused(rows):
    assert by_least_distance(rows) is None
    with pytest.raises(InputError, match=r"points of max_margin must be separable by a plane .* given are not\."):
        max_margin(rows, np.ones(len(rows)))


def test_a_margin_that_rounding_could_make_is_refused():
    rows = teacher_rows(400, 20, 0, 1e-14)
    with pytest.raises(InputError, match="points of max_margin must be separable"):
        max_margin(rows, np.ones(len(rows)))


@pytest.mark.parametrize(
    ("points", "labels", "sentence"),
    [
        ([[1.0, np.nan]], [1], "points of max_margin must be finite"),
        ([1.0, 2.0], [1, 1], r"points of max_margin must have 2 dimension\(s\)"),
        (np.empty((0, 3)), [], "points of max_margin must not be empty"),
        ([[1.0], [2.0]], [1], "labels of max_margin must have 2 rows"),
        ([[1.0], [2.0]], [1, 0], "labels of max_margin must be -1 or 1; got 0"),
        ([[1.0], [2.0]], ["a", "b"], "labels of max_margin must be an array of numbers"),
    ],
)
def test_refusals(points, labels, sentence):
    with pytest.raises(InputError, match=sentence):
        max_margin(points, labels)
