import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import lpntk as twins
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.lpntk import kernel_rows
from winnow.methods.lpntk.contradictions import contradictions
from winnow.methods.lpntk.kernel_rows import FeatureRows
from winnow.methods.lpntk.relations import KINDS, neighbours, relations


def features(n, p, seed, spread=0.3):
    """DenseRows along a few directions and their opposites, of unequal lengths, so that every relation occurs."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((3, p))
    rows = centres[rng.integers(0, 3, n)] * rng.choice([-1.0, 1.0], n)[:, None]
    rows += spread * rng.standard_normal((n, p))
    return rows * rng.uniform(0.7, 1.3, n)[:, None]


def counted(gram, labels, threshold, unrelated):
    """Pairs of each kind between each two classes, by the twin."""
    classes = sorted(set(labels))
    table = np.zeros((len(classes), len(classes), 3), dtype=int)
    examples = np.zeros((len(gram), 3), dtype=int)
    for i in range(len(gram)):
        for j in range(i):
            kind = twins.relation(gram, i, j, threshold, unrelated)
            if kind is None:
                continue
            k, a, b = KINDS.index(kind), classes.index(labels[i]), classes.index(labels[j])
            examples[[i, j], k] += 1
            table[a, b, k] += 1
            if a != b:
                table[b, a, k] += 1
    return table, examples


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 25), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.51, 0.75, 0.9]))
def test_counts_are_those_of_the_definition(n, p, seed, threshold):
    rows = features(n, p, seed)
    labels = np.random.default_rng(seed).integers(-2, 3, n).tolist()
    gram = rows @ rows.T
    found = relations(gram, labels, threshold=threshold, unrelated=0.1)
    table, examples = counted(gram.tolist(), labels, threshold, 0.1)
    assert found.table is not None
    assert found.classes is not None
    assert (found.table == table).all()
    assert (found.examples == examples).all()
    assert found.classes.tolist() == sorted(set(labels))
    assert list(found.total.values()) == (examples.sum(axis=0) // 2).tolist()
    assert list(relations(gram, threshold=threshold, unrelated=0.1).total.values()) == list(found.total.values())
    cosines = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    assert np.allclose(found.mean_cosine, (cosines.sum(axis=1) - 1) / (n - 1), atol=1e-12)


def test_every_kind_occurs_in_these_data():
    rows = features(60, 5, 0)
    assert min(relations(rows @ rows.T, unrelated=0.1).total.values()) > 10


def test_both_projections_count():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 0.5]])  # one direction; 1 is too long for 0 at t = .75
    found = relations(rows @ rows.T)
    assert found.total == {"interchangeable": 0, "unrelated": 3, "contradictory": 1}
    assert found.pairs == 6
    assert relations(rows @ rows.T, threshold=0.501).total["interchangeable"] == 0


def test_copies_are_interchangeable_at_one():
    rows = np.repeat(np.random.default_rng(0).standard_normal((20, 37)).astype(np.float32), 2, axis=0)
    for gram in (rows @ rows.T, FeatureRows(rows), FeatureRows(rows.astype(np.float64))):
        assert relations(gram, threshold=1.0).total["interchangeable"] == 20


def test_between_and_within():
    rows = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [0.0, 1.0]])
    found = relations(rows @ rows.T, [5, 5, 9, 9])
    assert found.between("contradictory").tolist() == [[0, 2], [2, 0]]
    assert found.within("interchangeable").tolist() == [1, 0]
    with pytest.raises(InputError, match="labels of relations must be given"):
        relations(rows @ rows.T).between("unrelated")
    with pytest.raises(UnknownNameError, match="nearest: 'unrelated'"):
        found.between("unrelate")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_files_and_features_give_the_same(tmp_path, monkeypatch, dtype):
    rows = features(150, 6, 1).astype(dtype)
    labels = np.arange(150) % 3
    gram = rows @ rows.T
    whole = relations(gram, labels)
    np.save(tmp_path / "gram.npy", gram)
    mapped = np.load(tmp_path / "gram.npy", mmap_mode="r")
    monkeypatch.setattr(kernel_rows, "_BLOCK_BYTES", 7 * 150 * np.dtype(dtype).itemsize)
    monkeypatch.setattr(kernel_rows, "_TILE", 16)
    for other in (mapped, gram, FeatureRows(rows)):
        found = relations(other, labels)
        assert (found.table == whole.table).all()
        assert (found.examples == whole.examples).all()
        near = contradictions(other, labels, share=0.3)
        assert np.allclose(near.every, contradictions(gram, labels, share=0.3).every, atol=1e-6)


def test_neighbours_are_ranked_by_the_smaller_projection():
    rows = features(80, 5, 3)
    gram = rows @ rows.T
    found = neighbours(gram, 7, k=6)
    strength = gram[7] / np.maximum(np.diag(gram), gram[7, 7])
    others = [j for j in range(80) if j != 7]
    ranked = sorted(others, key=lambda j: -strength[j])
    assert found.interchangeable.positions.tolist() == ranked[:6]
    assert found.contradictory.positions.tolist() == ranked[::-1][:6]
    top = found.contradictory.positions
    assert np.allclose(found.contradictory.cosine, [twins.cosine(gram, 7, j) for j in top])
    assert np.allclose(found.contradictory.own, gram[7, top] / gram[7, 7])
    assert np.allclose(found.contradictory.other, gram[7, top] / np.diag(gram)[top])
    by_rows = neighbours(FeatureRows(rows), 7, k=6)
    assert by_rows.interchangeable.positions.tolist() == ranked[:6]


def test_neighbours_lists_no_acute_angle_as_contradictory():
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = neighbours(rows @ rows.T, 0)
    assert found.interchangeable.positions.tolist() == [1]
    assert found.contradictory.positions.size == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 25), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 1.0]))
def test_contradiction_is_that_of_the_definition(n, p, seed, share):
    rows = features(n, p, seed)
    labels = np.random.default_rng(seed).integers(0, 3, n)
    labels[:2] = [0, 1]
    gram = rows @ rows.T
    found = contradictions(gram, labels, share=share)
    scores, suggested = twins.contradiction(gram.tolist(), labels.tolist(), share)
    assert np.allclose(found.every, scores, atol=1e-12)
    if p > 1:  # in one dimension all absolute cosines tie
        assert found.suggested.tolist() == [suggested[i] for i in found.positions]
    assert (np.diff(found.scores) <= 0).all()
    assert (found.scores == found.every[found.positions]).all()
    assert (labels[found.witness] == found.suggested).all()
    assert (found.suggested != labels[found.positions]).all()


def signed_kernel(classes, flipped, seed, n=300):
    """lpNTK of inputs in clusters where the network's own kernel is the same for every logit; some labels wrong."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    inputs = rng.standard_normal((classes, 12))[truth] + 0.6 * rng.standard_normal((n, 12))
    wrong = rng.choice(n, flipped, replace=False)
    labels = truth.copy()
    labels[wrong] = (truth[wrong] + rng.integers(1, classes, flipped)) % classes
    signs = 2.0 * np.eye(classes)[labels] - 1.0
    return (inputs @ inputs.T) * (signs @ signs.T) / classes, labels, truth, wrong


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_flipped_labels_come_first(classes):
    gram, labels, truth, wrong = signed_kernel(classes, 15, seed=classes)
    found = contradictions(gram, labels, k=15)
    hit = np.isin(found.positions, wrong)
    assert hit.mean() >= 0.8  # 5 % by chance
    assert (found.suggested[hit] == truth[found.positions[hit]]).mean() >= 0.8


def test_alone_in_its_class_is_not_judged():
    rows = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]])
    assert contradictions(rows @ rows.T, [0, 0, 1]).every[2] == 0.0


def test_order_of_the_examples_plays_no_part():
    rows = features(60, 5, 4)
    labels = np.arange(60) % 3
    mix = np.random.default_rng(0).permutation(60)
    before, after = contradictions(FeatureRows(rows), labels), contradictions(FeatureRows(rows[mix]), labels[mix])
    assert mix[after.positions].tolist() == before.positions.tolist()
    assert (relations(FeatureRows(rows[mix])).examples == relations(FeatureRows(rows)).examples[mix]).all()


GOOD = np.eye(4) + 0.1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: relations(np.ones((3, 4))), r"gram of relations must be square, or FeatureRows.*\(3, 4\)\.$"),
        (lambda: relations(np.ones((1, 1))), r"at least 2 examples; got shape \(1, 1\)\.$"),
        (lambda: relations(FeatureRows(np.ones((1, 5)))), r"values of FeatureRows .*at least 2 examples"),
        (lambda: relations(np.ones(4)), r"gram of relations must be a matrix; got shape \(4,\)\.$"),
        (lambda: relations([["a", "b"], ["c", "d"]]), "array of numbers; got dtype"),
        (lambda: relations([[1.0, 2.0], [3.0]]), "array of numbers; got list"),
        (lambda: relations(np.full((3, 3), np.nan)), "positive, finite diagonal; 3 value"),
        (
            lambda: relations(np.where(np.arange(16).reshape(4, 4) == 7, np.inf, GOOD)),
            "gram of relations must be finite",
        ),
        (lambda: relations(GOOD - np.diag([0, 0, 1.1, 0])), "diagonal; 1 value.*at 2: 0"),
        (lambda: relations(np.triu(np.ones((4, 4)))), "must be symmetric; two mirrored entries differ by 1 "),
        (lambda: relations(FeatureRows(np.array([[1.0, 0], [0, 0]]))), "kernel of features of relations .*diagonal"),
        (lambda: relations(FeatureRows(np.array([[1.0, 0], [0, np.nan]]))), r"features of relations .*at \(1, 1\)"),
        (lambda: relations(FeatureRows(np.full((3, 2), 1e30, dtype=np.float32))), "finite diagonal.*: inf"),
        (lambda: relations(GOOD, [0, 1]), "labels of relations must have 4 rows"),
        (lambda: relations(GOOD, [0, 1, 0.5, 1]), "labels of relations must be integers; got 0.5"),
        (lambda: relations(GOOD, threshold=0.5), r"threshold of relations must be a number in \(0.5, 1\]; got 0.5"),
        (lambda: relations(GOOD, unrelated=-0.1), "unrelated of relations"),
        (lambda: neighbours(GOOD, 4), "i of neighbours must be a whole number from 0 to 3; got 4"),
        (lambda: neighbours(GOOD, 0, k=0), "k of neighbours"),
        (lambda: contradictions(GOOD, [1, 1, 1, 1]), "labels of contradictions .*2 classes; got only 1"),
        (lambda: contradictions(GOOD, [0, 1, 0, 1], share=0.0), "share of contradictions"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        call()
    assert "\n" not in str(error.value)


def test_large_kernels_are_sampled_and_watched(monkeypatch):
    monkeypatch.setattr(kernel_rows, "_SCANNED", 3)
    with pytest.raises(InputError, match="symmetric"):
        relations(np.triu(np.ones((50, 50))))
    gram = np.eye(200)
    monkeypatch.setattr(kernel_rows, "_SAMPLED", 1)
    gram[3, 190] = np.nan
    with pytest.raises(InputError, match="gram of relations must be finite"):
        relations(gram)


def test_doctests_hold():
    import doctest
    import importlib

    assert doctest.testmod(importlib.import_module("winnow.methods.lpntk.relations")).failed == 0
