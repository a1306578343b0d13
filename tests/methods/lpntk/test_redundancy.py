import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import lpntk as twins
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.lpntk import kernel_rows
from winnow.methods.lpntk import redundancy as module
from winnow.methods.lpntk.kernel_rows import FeatureRows
from winnow.methods.lpntk.redundancy import redundant


def features(n, p, seed, spread=0.25):
    """DenseRows near a few directions, of unequal lengths."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((4, p))[rng.integers(0, 4, n)] + spread * rng.standard_normal((n, p))
    return rows * rng.uniform(0.5, 2.0, n)[:, None]


sizes = (st.integers(2, 60), st.integers(1, 8), st.integers(0, 10**6))


@settings(max_examples=40, deadline=None)
@given(*sizes, st.sampled_from([0.5, 0.9, 0.97]), st.booleans())
def test_cover_is_the_definition(n, p, seed, cosine, projection):
    gram = (rows := features(n, p, seed)) @ rows.T
    found = redundant(gram, cosine=cosine, projection=projection)
    if p > 1:  # in one dimension all cosines tie, up to rounding
        assert found.witness.tolist() == twins.redundant_by_cover(gram.tolist(), cosine, projection)


@settings(max_examples=40, deadline=None)
@given(*sizes, st.sampled_from([0.5, 0.9, 0.97, 1.0]), st.booleans(), st.booleans())
def test_every_removed_example_has_a_kept_witness(n, p, seed, cosine, projection, by_class):
    rows = features(n, p, seed)
    labels = np.random.default_rng(seed).integers(0, 3, n) if by_class else None
    gram = rows @ rows.T
    found = redundant(gram, cosine=cosine, projection=projection, labels=labels)
    assert sorted([*found.removed, *found.kept]) == list(range(n))
    assert (found.witness[found.kept] == -1).all()
    assert found.uncovered.size == 0
    kept = set(found.kept.tolist())
    for i in found.removed.tolist():
        w = int(found.witness[i])
        assert w in kept
        assert twins.cosine(gram, i, w) >= cosine - 1e-12
        assert gram[w, w] >= gram[i, i]
        assert not projection or gram[i, w] >= gram[i, i] * (1 - 1e-12)
        assert labels is None or labels[w] == labels[i]
    group = np.zeros(n) if labels is None else labels
    for i in kept:  # and nothing that could go has stayed
        bigger = [w for w in kept if w != i and gram[w, w] > gram[i, i] and group[w] == group[i]]
        assert projection or all(twins.cosine(gram, i, w) < cosine + 1e-12 for w in bigger)


@settings(max_examples=40, deadline=None)
@given(*sizes)
def test_paper_is_the_definition(n, p, seed):
    gram = (rows := features(n, p, seed)) @ rows.T
    found = redundant(gram, rule="paper")
    gone = twins.redundant_by_paper(gram.tolist())
    assert found.removed.tolist() == np.flatnonzero(gone).tolist()
    for i in found.removed.tolist():
        able = [w for w in found.kept.tolist() if gram[i, w] > gram[i, i]]
        assert found.witness[i] == (max(able, key=lambda w, i=i: gram[i, w]) if able else -1)
    assert found.uncovered.tolist() == [i for i in found.removed.tolist() if found.witness[i] == -1]


def test_the_paper_can_leave_a_removed_example_without_witness():
    turn = np.deg2rad(50.0)
    rows = np.array([[np.cos(k * turn), np.sin(k * turn)] for k in range(3)]) * (1.7 ** np.arange(3))[:, None]
    found = redundant(rows @ rows.T, rule="paper")  # each is passed by the next, longer one, but not by the one after
    assert found.removed.tolist() == [0, 1]
    assert found.witness.tolist() == [-1, 2, -1]
    assert found.uncovered.tolist() == [0]
    assert redundant(rows @ rows.T).removed.size == 0


@pytest.mark.parametrize("rule", ["paper", "cover"])
@pytest.mark.parametrize("by_class", [False, True])
def test_order_of_the_examples_plays_no_part(rule, by_class):
    rows = features(200, 4, 5)
    labels = np.arange(200) % 3 if by_class else None
    mix = np.random.default_rng(1).permutation(200)
    before = redundant(FeatureRows(rows), rule, 0.95, labels)
    after = redundant(FeatureRows(rows[mix]), rule, 0.95, None if labels is None else labels[mix])
    assert 0 < before.removed.size < 200
    assert sorted(mix[after.removed]) == before.removed.tolist()
    covered = after.witness >= 0
    assert (mix[after.witness[covered]] == before.witness[mix[covered]]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("by_class", [False, True])
def test_blocks_files_and_features_give_the_same(tmp_path, monkeypatch, dtype, by_class):
    rows = features(150, 5, 2).astype(dtype)
    labels = np.arange(150) % 4 if by_class else None
    gram = rows.astype(np.float64) @ rows.T.astype(np.float64)
    np.save(tmp_path / "gram.npy", gram)
    mapped = np.load(tmp_path / "gram.npy", mmap_mode="r")
    whole = {rule: redundant(gram, rule, labels=labels) for rule in ("cover", "paper")}
    monkeypatch.setattr(kernel_rows, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(module, "_STEP", 11)
    monkeypatch.setattr(module, "_KEPT", 7)
    for rule, expected in whole.items():
        assert expected.removed.size > 10
        for other in (mapped, gram, FeatureRows(rows)):
            assert redundant(other, rule, labels=labels).witness.tolist() == expected.witness.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies(dtype):
    rows = np.random.default_rng(3).standard_normal((40, 301)).astype(dtype)
    twice = np.concatenate([rows, rows])
    for gram in (twice @ twice.T, FeatureRows(twice)):
        assert redundant(gram, "paper").removed.size == 0  # no copy passes its original
        for projection in (False, True):
            assert redundant(gram, cosine=1.0, projection=projection).removed.size == 40
    exact = np.repeat(np.repeat(np.diag([3.0, 1.0, 2.0]), 2, axis=0), 2, axis=1)
    assert redundant(exact).kept.tolist() == [0, 2, 4]  # the earlier of equals stays


@pytest.mark.parametrize("pieces", [1, 2])
def test_the_earlier_of_two_equal_witnesses(monkeypatch, pieces):
    monkeypatch.setattr(module, "_STEP", 2)
    monkeypatch.setattr(module, "_KEPT", pieces)
    rows = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    assert redundant(rows @ rows.T, cosine=0.7).witness.tolist() == [-1, -1, 0]


def test_paper_within_a_class():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.1], [0.0, 3.0]])
    gram = rows @ rows.T
    assert redundant(gram, "paper").removed.tolist() == [0, 2]
    assert redundant(gram, "paper", labels=[0, 1, 1, 0]).removed.tolist() == [2]
    assert redundant(gram, "cover", labels=[0, 1, 2, 3]).removed.size == 0


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: redundant(np.eye(3), rule="papr"), UnknownNameError, "rule of redundant 'papr'.*nearest: 'paper'"),
        (lambda: redundant(np.eye(3), cosine=1.2), InputError, r"cosine of redundant must be a number in \(0, 1\]"),
        (lambda: redundant(np.eye(3), labels=[1, 2]), InputError, "labels of redundant must have 3 rows"),
        (lambda: redundant(np.zeros((3, 3))), InputError, "gram of redundant must have a positive, finite diagonal"),
        (lambda: redundant(np.ones((5, 3))), InputError, "gram of redundant must be square"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_doctests_hold():
    import doctest

    assert doctest.testmod(module).failed == 0
