"""What `compress` promises: the same moments, positive weights, the same sum, the size asked for."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import moments as twin
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.moments import compress, feasible_size, moment_error
from winnow.methods.moments.cells import merge
from winnow.methods.moments.moment_table import table
from winnow.methods.moments.recombination import reduce_cells, sample_rank
from winnow.methods.moments.rounds import guesses, in_gentle_rounds

TIGHT = 1e-12


def kept_promises(points, idx, w, order, weights=None, targets=None):
    before = np.ones(len(points)) if weights is None else np.asarray(weights)
    assert (w > 0).all()
    assert (np.diff(idx) > 0).all()
    assert idx.dtype == np.int64
    assert w.sum() == pytest.approx(before.sum(), rel=1e-14)
    assert twin.float_error(points, idx, w, order, weights, targets) <= TIGHT


def uniform(n, m=3, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, m))


@pytest.mark.parametrize("way", [{}, {"refine": True}, {"strategy": "kmeans"}, {"strategy": "greedy"}])
@pytest.mark.parametrize(("m", "order", "size"), [(1, 4, 33), (2, 3, 77), (3, 2, 50), (5, 1, 11)])
def test_uniform_points(way, m, order, size):
    x = uniform(400, m)
    idx, w = compress(x, size, order, **way)
    assert len(idx) == size
    kept_promises(x, idx, w, order)


@pytest.mark.parametrize("strategy", ["cells", "kmeans", "greedy"])
def test_the_paper_s_reduction_guarantees_the_same(strategy):
    x = uniform(150, 2)
    weights = np.random.default_rng(1).uniform(1, 3, 150)
    for reduce in ("tree", "paper"):
        idx, w = compress(x, 40, 2, weights, strategy=strategy, reduce=reduce)
        assert len(idx) == 40
        kept_promises(x, idx, w, 2, weights)


def test_one_cell_does_what_algorithm_2_does():
    x, weights = uniform(60, 2), np.random.default_rng(1).uniform(1, 2, 60)
    for idx, w in (compress(x, 10, 3, weights), twin.algorithm_2(x, weights, 3)):
        assert len(idx) == feasible_size(2, 3)
        assert (w > 0).all()
        assert twin.exact_error(x, idx, w, 3, weights) <= TIGHT


def on_a_circle(n, rng):
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.c_[np.cos(angle), np.sin(angle)]


DEGENERATE = {
    "duplicates": lambda n, u, rng: u[rng.integers(0, n // 3, n)],
    "one point": lambda n, u, rng: np.repeat(u[:1], n, axis=0),
    "grid": lambda n, u, rng: np.floor(3.99 * (u + 1)),
    "corners": lambda n, u, rng: np.sign(u),
    "constant": lambda n, u, rng: np.c_[u[:, :2], np.full(n, 7.0)],
    "collinear": lambda n, u, rng: np.c_[u[:, 0], 2 * u[:, 0] + 1, u[:, 1]],
    "line": lambda n, u, rng: u[:, :1] * [1.0, 3.0, -0.1],
    "plane": lambda n, u, rng: np.c_[u[:, :2], u[:, 0] + u[:, 1]],
    "nearly a plane": lambda n, u, rng: np.c_[u[:, :2], u[:, 0] + 1e-9 * u[:, 2]],
    "circle": lambda n, u, rng: on_a_circle(n, rng),
    "cylinder": lambda n, u, rng: np.c_[on_a_circle(n, rng), u[:, 0]],
    "labels": lambda n, u, rng: np.c_[u[:, :2], rng.integers(0, 3, n)],
    "one-hot labels": lambda n, u, rng: np.c_[u[:, 0], np.eye(3)[rng.integers(0, 3, n)]],
    "heavy tails": lambda n, u, rng: rng.standard_cauchy((n, 3)),
    "log-normal": lambda n, u, rng: np.exp(3 * rng.normal(size=(n, 3))),
    "offset": lambda n, u, rng: u + 1e6,
    "offset line": lambda n, u, rng: u[:, :1] * [1.0, 3.0, 1.0] + 1e6,
    "units": lambda n, u, rng: u * [1e-100, 1.0, 1e100],
    "clumps": lambda n, u, rng: 1e-6 * u + rng.integers(0, 5, (n, 1)),
}


@pytest.mark.parametrize("decades", [0, 12])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_points(name, decades):
    n = 900
    rng = np.random.default_rng(3)
    x = DEGENERATE[name](n, uniform(n), rng)
    weights = 10.0 ** rng.uniform(-decades, 0, n)
    distinct = len(np.unique(x, axis=0))
    for order, size in ((1, 20), (3, 90), (4, 80)):
        idx, w = compress(x, size, order, weights)
        assert len(idx) <= min(size, distinct)
        kept_promises(x, idx, w, order, weights)
        assert moment_error(x, idx, w, order, weights) <= TIGHT


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(DEGENERATE)),
    st.integers(1, 4),
    st.integers(20, 300),
    st.integers(1, 120),
    st.sampled_from([0, 3, 12]),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_any_size_and_order(name, order, n, size, decades, refine, seed):
    rng = np.random.default_rng(seed)
    x = DEGENERATE[name](n, rng.uniform(-1, 1, (n, 3)), rng)
    weights = 10.0 ** rng.uniform(-decades, 0, n)
    try:
        idx, w = compress(x, size, order, weights, refine=refine)
    except InputError as error:
        assert "must be at least" in str(error)  # noqa: PT017  (either outcome is right; which, depends on the rank)
        assert size < feasible_size(x.shape[1], order)
        return
    assert len(idx) <= size
    kept_promises(x, idx, w, order, weights)


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
@pytest.mark.parametrize(("order", "size"), [(2, 100), (4, 300), (5, 200)])
def test_outliers_cost_no_digits(order, size, far, refine):
    rng = np.random.default_rng(0)
    for outliers in ([[far] * 3], far * rng.normal(size=(5, 3))):
        x = np.r_[rng.random((3000, 3)), outliers]
        idx, w = compress(x, size, order, refine=refine)
        assert len(idx) == size
        kept_promises(x, idx, w, order)


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
def test_an_outlier_along_one_coordinate(far):
    x = np.r_[uniform(3000), [[far, 0.0, 0.0]]]
    kept_promises(x, *compress(x, 200, 5), 5)
    assert moment_error(x, *compress(x, 200, 5, refine=True), 5) <= 100 * TIGHT


@pytest.mark.parametrize("far", [1e4, 1e8])
def test_an_outlier_does_not_hide_independent_moments(far):
    x = np.r_[uniform(3000), [[far] * 3]]
    data = merge(x, None, np.ones(len(x)))
    assert guesses(data.points, 300, table(3, 4))[0] == feasible_size(3, 4)


def test_where_every_point_is_an_outlier():
    """In 200 heavy-tailed coordinates, half of them copies, each point lies far out in some."""
    x = np.random.default_rng(0).standard_cauchy((400, 100)) ** 3
    x = np.c_[x, x]
    idx, w = compress(x, 250, 1)
    assert len(idx) <= 250
    assert moment_error(x, idx, w, 1) <= TIGHT


def test_gentle_rounds_end_though_the_guess_was_too_low(monkeypatch):
    """Cells of two points each, whose 20 moments are independent, lose nothing: they must soon be made larger."""
    rounds = []

    def counted(*arguments):
        rounds.append(1)
        return reduce_cells(*arguments)

    monkeypatch.setattr("winnow.methods.moments.rounds.reduce_cells", counted)
    x = uniform(2000)
    data = merge(x, None, np.ones(len(x)))
    kept, _ = in_gentle_rounds(data, 200, table(3, 3), 2)
    assert len(kept) <= 200
    assert len(rounds) < 30


@pytest.mark.parametrize("name", ["circle", "plane", "line", "labels", "constant", "offset"])
def test_dependent_moments_need_no_points(name):
    """On a circle cos and sin to order k make 2k + 1 independent moments, and so on."""
    n, order = 600, 4
    rng = np.random.default_rng(0)
    x = DEGENERATE[name](n, uniform(n), rng)
    rank = {"circle": 9, "plane": 15, "line": 5, "constant": 15, "labels": 31, "offset": 35}[name]
    idx, w = compress(x, rank, order)
    assert len(idx) == rank
    kept_promises(x, idx, w, order)


def test_moments_hold_within_cells():
    """Two far clumps, size for two cells: each keeps its own moments."""
    x = np.r_[uniform(200, 2), uniform(200, 2, seed=1) + 10]
    idx, w = compress(x, 20, 3)
    assert moment_error(x, idx, w, 3, cells=np.arange(400) // 200) <= TIGHT
    assert moment_error(x, *compress(x, 10, 3), 3, cells=np.arange(400) // 200) > 1e-6


def test_duplicates_are_one_point_and_the_first_stands():
    x = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [3.0, 0.0]])
    idx, w = compress(x, 10, 1, [1.0, 2.0, 4.0, 0.0])
    assert idx.tolist() == [0, 1]
    assert w.tolist() == [5.0, 2.0]


def test_fewer_points_than_moments_stay_as_they_are():
    x = uniform(10)
    idx, w = compress(x, 20, 5)
    assert idx.tolist() == list(range(10))
    assert w.tolist() == [1.0] * 10


@pytest.mark.parametrize("way", [{}, {"refine": True}, {"strategy": "kmeans"}, {"targets": 0}])
def test_order_of_points_changes_nothing(way):
    rng = np.random.default_rng(0)
    x = np.round(uniform(600), 1 if not way else 6)
    weights = rng.uniform(1, 2, 600)
    shuffled = rng.permutation(600)
    one, two = dict(way), dict(way)
    if "targets" in way:
        y = np.sin(x[:, 0])
        one["targets"], two["targets"] = y, y[shuffled]
    a, v = compress(x, 100, 2, weights, **one)
    b, w = compress(x[shuffled], 100, 2, weights[shuffled], **two)
    first = np.lexsort(x[a].T), np.lexsort(x[shuffled][b].T)
    np.testing.assert_array_equal(x[a][first[0]], x[shuffled][b][first[1]])
    np.testing.assert_array_equal(v[first[0]], w[first[1]])


def test_weights_may_have_any_unit():
    x = uniform(300, 2)
    idx, w = compress(x, 30, 2)
    for unit in (2.0**-900, 2.0**900):
        again, v = compress(x, 30, 2, np.full(300, unit))
        np.testing.assert_array_equal(idx, again)
        np.testing.assert_array_equal(w * unit, v)


@pytest.mark.parametrize("t", [1, 2])
def test_targets_keep_what_a_squared_loss_depends_on(t):
    rng = np.random.default_rng(0)
    x = uniform(500, 2)
    y = np.sin(3 * x[:, :1]) + 3 * rng.normal(size=(500, t))
    size = feasible_size(2, 2, t)
    assert size == 6 * (1 + t) + t
    idx, w = compress(x, size, 2, targets=y)
    assert len(idx) == size
    kept_promises(x, idx, w, 2, targets=y)
    assert moment_error(x, idx, w, 2, targets=y) <= TIGHT
    model = x**2 @ np.ones((2, t)) + x[:, :1] - 0.3  # of degree 2, so its loss is among the moments
    loss = ((model - y) ** 2 - model**2).sum(axis=1)
    assert w @ loss[idx] == pytest.approx(loss.sum(), rel=1e-11)


def test_constant_targets_and_points_without_spread():
    x = uniform(200, 2)
    idx, w = compress(x, 20, 2, targets=np.ones(200))
    kept_promises(x, idx, w, 2)
    y = np.random.default_rng(0).normal(size=200)
    idx, w = compress(np.ones((200, 2)), 3, 2, targets=y)
    kept_promises(np.ones((200, 2)), idx, w, 2, targets=y)


def test_smooth_functions_hardly_change():
    """Far better than a random tenth, and better with the order."""
    x = uniform(4000)
    f = 1 / (1 + np.exp(-x @ [1.0, -0.7, 0.4]))
    errors = []
    for order in (1, 3):
        idx, w = compress(x, 400, order)
        errors.append(abs(w @ f[idx] / 4000 - f.mean()))
    assert errors[1] < errors[0] < 0.01 * f.std() / np.sqrt(400)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"order": 0}, "order of compress must be a whole number of at least 1; got 0"),
        ({"size": 0}, "size of compress must be a whole number of at least 1; got 0"),
        ({"points": [[np.nan, 1.0]] * 50}, "points of compress must be finite; 50 value"),
        ({"points": np.zeros((0, 2))}, "points of compress must not be empty"),
        ({"weights": np.zeros(50)}, "weights of compress must have a finite sum above zero; got 0"),
        ({"weights": [-1.0] + [1.0] * 49}, "weights of compress must not be negative; 1 are, the first at 0"),
        ({"weights": np.ones(3)}, "weights of compress must have 50 rows"),
        ({"targets": np.ones(3)}, "targets of compress must have 50 rows"),
        ({"size": 9}, "at least 10 to match the moments up to order 3 in 2 dimension.* order that fits 9 is 2"),
        ({"size": 2}, "at least 10 .* not even order 1 fits, which needs 3"),
        ({"refine": True, "strategy": "greedy"}, "refine of compress must be False unless"),
        ({"seed": -1}, "seed of compress"),
        ({"refine": "x"}, "refine of compress must be True or False; got 'x'"),
        ({"points": np.ones((50, 2)) * 1j}, "points of compress must be real numbers; got complex ones"),
        ({"targets": np.ones(50) * 1j}, "targets of compress must be real"),
        ({"weights": [1j] * 50}, "weights of compress must be real"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, words):
    asked = {"points": uniform(50, 2), "size": 20, "order": 3} | change
    with pytest.raises(InputError, match=words):
        compress(**asked)


def test_too_many_moments_are_refused_before_they_are_counted_out(monkeypatch):
    monkeypatch.setattr(sys.modules[compress.__module__], "table", None)
    with pytest.raises(InputError, match=r"at most 10000 moments; order 3 in 40 .* makes 12341: .* 100 points is 1\."):
        compress(uniform(2000, 40), 100, 3)
    with pytest.raises(InputError, match=r"makes 308505: not even order 1 fits: reduce them\."):
        compress(uniform(50, 784), 45, 2)
    with pytest.raises(InputError, match=r"makes about 10\^\d+: the largest"):
        compress(uniform(50, 40), 45, 10**6)
    with pytest.raises(InputError, match=r"at least 15 to match"):
        compress(uniform(50, 2), 10, 4, strategy="kmeans")


def test_an_infeasible_size_is_found_on_few_points(monkeypatch):
    seen = []

    def spy(points, products):
        seen.append(len(points))
        return sample_rank(points, products)

    monkeypatch.setattr("winnow.methods.moments.rounds.sample_rank", spy)
    with pytest.raises(InputError, match="at least 1771 to match"):
        compress(uniform(2000, 20), 50, 3)
    assert seen == [51]
    line = uniform(2000, 1) * np.arange(1.0, 21)
    assert len(compress(line, 50, 3)[0]) == 50  # of 1771 moments 4 are independent
    assert max(seen) == 204


def test_weights_of_nearly_nothing_count_as_zero():
    x = uniform(300, 2)
    tiny = np.ones(300)
    tiny[::3] = 1e-300
    gone = np.where(tiny < 1, 0.0, 1.0)
    for one, two in zip(compress(x, 30, 2, tiny), compress(x, 30, 2, gone), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("change", [{"strategy": "cell"}, {"reduce": "papers"}])
def test_unknown_words(change):
    with pytest.raises(UnknownNameError, match="nearest"):
        compress(uniform(50, 2), 20, 3, **change)
