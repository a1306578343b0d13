import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import lpntk as twins
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.lpntk.farthest_points import farthest_points
from winnow.methods.lpntk.kernel_rows import FeatureRows


def kernel(n, p, seed):
    """Random and positive semi-definite, with rows of unequal lengths."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p)) * rng.uniform(0.2, 3.0, n)[:, None]
    return rows @ rows.T


def assert_equals_literal(found, gram, m, kind):
    centres, lists = twins.algorithm_3(gram.tolist(), m, kind)
    assert found.centres.tolist() == centres
    for cluster, (centre, others) in enumerate(zip(centres, lists, strict=True)):
        assert found.members(cluster).tolist() == sorted([centre, *others])
    assert found.sizes.tolist() == [1 + len(others) for others in lists]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 40), st.integers(1, 8), st.integers(0, 10**6), st.floats(0, 1), st.sampled_from(["raw", "cosine"])
)
def test_equals_the_literal_algorithm(n, p, seed, part, kind):
    gram, m = kernel(n, p, seed), 1 + round(part * (n - 1))
    assert_equals_literal(farthest_points(gram, m, kind), gram, m, kind)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), st.integers(0, 10**6), st.floats(0, 1), st.sampled_from(["raw", "cosine"]))
def test_equals_the_literal_algorithm_where_many_tie(n, seed, part, kind):
    rows = np.random.default_rng(seed).integers(-2, 3, (n, 2)).astype(float)
    rows[(rows == 0).all(axis=1)] = 1.0
    gram, m = rows @ rows.T, 1 + round(part * (n - 1))
    assert_equals_literal(farthest_points(gram, m, kind), gram, m, kind)


@pytest.mark.parametrize("kind", ["raw", "cosine"])
def test_each_class_by_itself(kind):
    gram = kernel(60, 5, 0)
    labels = np.array([7, 3, -1])[np.random.default_rng(0).integers(0, 3, 60)]
    found = farthest_points(gram, 4, kind, labels)
    assert found.classes is not None
    assert found.classes.tolist() == [-1] * 4 + [3] * 4 + [7] * 4
    for place, c in enumerate([-1, 3, 7]):
        where = np.flatnonzero(labels == c)
        alone = farthest_points(gram[np.ix_(where, where)], 4, kind)
        assert found.centres[4 * place : 4 * place + 4].tolist() == where[alone.centres].tolist()
        assert (found.labels[where] == alone.labels + 4 * place).all()
    assert found.sizes.sum() == 60
    assert (labels[found.centres] == found.classes).all()
    for c, head in zip([-1, 3, 7], found.heads, strict=True):
        assert found.classes[head] == c
        assert found.sizes[head] == found.sizes[found.classes == c].max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["raw", "cosine"])
@pytest.mark.parametrize("by_class", [False, True])
def test_files_and_features_give_the_same(tmp_path, dtype, kind, by_class):
    rows = np.random.default_rng(4).standard_normal((120, 6)).astype(dtype)
    labels = np.arange(120) % 3 if by_class else None
    gram = rows @ rows.T
    np.save(tmp_path / "gram.npy", gram)
    expected = farthest_points(gram, 12, kind, labels)
    for other in (np.load(tmp_path / "gram.npy", mmap_mode="r"), FeatureRows(rows)):
        found = farthest_points(other, 12, kind, labels)
        assert found.centres.tolist() == expected.centres.tolist()
        assert found.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize("kind", ["raw", "cosine"])
def test_order_of_the_examples_plays_no_part(kind):
    gram = kernel(90, 6, 1)
    mix = np.random.default_rng(2).permutation(90)
    before, after = farthest_points(gram, 20, kind), farthest_points(gram[np.ix_(mix, mix)], 20, kind)
    assert mix[after.centres].tolist() == before.centres.tolist()
    assert (after.labels == before.labels[mix]).all()


def test_a_short_example_is_chosen_once():
    gram = np.array([[9.0, -1.0, 2.0], [-1.0, 0.2, 0.5], [2.0, 0.5, 4.0]])  # 1 is nearer to 2 than to itself
    found = farthest_points(gram, 3)
    assert found.centres.tolist() == [0, 1, 2]
    assert found.sizes.tolist() == [1, 1, 1]


def test_a_share_of_the_examples():
    gram = kernel(50, 4, 3)
    assert farthest_points(gram, 0.1).centres.size == 5
    assert farthest_points(gram, 1.0).sizes.tolist() == [1] * 50
    assert farthest_points(gram, 0.001).centres.size == 1
    assert np.bincount(farthest_points(gram, 0.1, labels=[0] * 10 + [1] * 40).classes).tolist() == [1, 4]
    assert farthest_points(gram, 1).heads.tolist() == [0]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: farthest_points(np.eye(3), 4), InputError, "m of farthest_points .*from 1 to 3 .*; got 4"),
        (lambda: farthest_points(np.eye(3), 0), InputError, "m of farthest_points .*; got 0"),
        (lambda: farthest_points(np.eye(3), True), InputError, "m of farthest_points .*; got True"),
        (lambda: farthest_points(np.eye(3), 1.5), InputError, r"m of farthest_points must be a number in \(0, 1\]"),
        (lambda: farthest_points(np.eye(3), 2, labels=[0, 0, 1]), InputError, "from 1 to 1 .*smallest class.*; got 2"),
        (
            lambda: farthest_points(np.eye(3), 2, "cosin"),
            UnknownNameError,
            "kind of farthest_points .*nearest: 'cosine'",
        ),
        (
            lambda: farthest_points(np.eye(3), 2, labels=[0, 1]),
            InputError,
            "labels of farthest_points must have 3 rows",
        ),
        (lambda: farthest_points(np.ones((1, 1)), 1), InputError, "gram of farthest_points .*at least 2 examples"),
        (lambda: farthest_points(np.eye(3), 2).members(2), InputError, "cluster of members"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_doctests_hold():
    import doctest
    import importlib

    assert doctest.testmod(importlib.import_module("winnow.methods.lpntk.farthest_points")).failed == 0
