"""What each score says on cases small enough to work out by hand, and its parameters against the slow twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.oracles import scores as oracle
from winnow.artefacts import Signals
from winnow.scores.score import score
from winnow.signals.clusters import spherical_centroids, unit_rows
from winnow.testing.planted import planted


def of_logits(logits, labels, epochs=None, planned=0) -> Signals:
    values = np.asarray(logits, dtype=np.float32)
    return Signals(
        ids=np.arange(len(labels)),
        task="classification",
        labels=np.asarray(labels),
        classes=tuple(map(str, range(values.shape[3]))),
        arrays={"logits": values},
        epochs=tuple(range(1, values.shape[1] + 1)) if epochs is None else epochs,
        planned_epochs=planned,
    )


def of_correctness(rows) -> Signals:
    """Two classes, label 0; rows say for each epoch which examples are right."""
    right = np.asarray(rows, dtype=float)
    return of_logits(np.stack([right, 1 - right], axis=-1)[None], [0] * right.shape[1])


@pytest.fixture(scope="module")
def small() -> Signals:
    return planted(n=30, seeds=2, epochs=14, seed=8).signals.canonical()


def test_el2n_of_known_probabilities():
    signals = of_logits([[[[0.0, 0.0], [np.log(3.0), 0.0], [1e4, 0.0], [0.0, 1e4]]]], [0, 0, 0, 0])
    assert np.allclose(score("el2n", signals).values, [np.sqrt(0.5), 0.25 * np.sqrt(2), 0.0, np.sqrt(2)], atol=1e-7)


def test_el2n_still_orders_what_is_almost_certain():
    signals = of_logits([[[[30.0, 0.0], [60.0, 0.0], [90.0, 0.0]]]], [0, 0, 0])
    values = score("el2n", signals).values
    assert values[0] > values[1] > values[2] > 0


def test_uncertainty_of_known_probabilities():
    signals = of_logits([[[[np.log(2.0), 0.0, 0.0], [0.0, 0.0, 0.0]]]], [0, 0])
    assert np.allclose(score("margin", signals).values, [0.75, 1.0])
    assert np.allclose(score("confidence", signals).values, [0.5, 2 / 3])
    assert np.allclose(score("entropy", signals).values, [1.5 * np.log(2), np.log(3)])


def test_forgetting_by_hand():
    #                      always, once, twice, learned late, never
    signals = of_correctness([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]])
    assert score("forgetting", signals).values.tolist() == [0, 1, 2, 0, 3]


def test_forgetting_where_nothing_was_learned():
    assert score("forgetting", of_correctness([[0, 0], [0, 0]])).values.tolist() == [1, 1]


def test_aum_is_minus_the_mean_margin():
    signals = of_logits([[[[3.0, 1.0, 0.0]], [[5.0, 1.0, 2.0]]]], [0])
    assert score("aum", signals).values.tolist() == [-2.5]


def test_difficulty_sums_epochs_and_averages_seeds():
    losses = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    signals = Signals(ids=[7], task="regression", labels=[0.5], arrays={"losses": losses}, epochs=(1, 2))
    assert score("difficulty", signals).values.tolist() == [5.0]


def test_memorization_by_hand():
    member = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0]])
    correct = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 0, 0]])
    signals = Signals(
        ids=[1, 2, 3],
        task="classification",
        labels=[0, 1, 0],
        classes=("a", "b"),
        arrays={"ensemble_member": member, "ensemble_correct": correct},
    )
    assert score("memorization", signals).values.tolist() == [0.5, 1.0, 0.5]
    assert score("dichotomous", signals).values.tolist() == [0.5, 1.0, 1.0]  # of the two models without each


def test_ensemble_influence_finds_the_example_that_another_depends_on():
    rng = np.random.default_rng(0)
    member = (rng.random((400, 12)) < 0.7).astype(np.uint8)
    correct = (rng.random((400, 12)) < 0.6).astype(np.uint8)
    correct[:, 4] = np.where(member[:, 2] == 1, 1, rng.random(400) < 0.1)  # 4 is right where 2 was seen
    signals = Signals(
        ids=np.arange(12),
        task="classification",
        labels=np.arange(12) % 2,
        classes=("a", "b"),
        arrays={"ensemble_member": member, "ensemble_correct": correct},
    )
    for of in ("max", "mean"):
        assert score("ensemble_influence", signals, of=of).values.argmax() == 2
    assert score("ensemble_influence", signals).values[2] == pytest.approx(0.9, abs=0.1)
    alone = replace(signals, labels=np.arange(12), classes=tuple("abcdefghijkl"))
    assert score("ensemble_influence", alone).values.tolist() == [0.0] * 12


def test_disagreement_by_hand():
    sure, other, even = [9.0, -9.0], [-9.0, 9.0], [0.0, 0.0]
    logits = np.array([[[sure, sure, even]], [[sure, other, even]]])  # two seeds, one epoch, three examples
    signals = Signals(
        ids=[1, 2, 3], task="classification", labels=[0, 0, 0], classes=("a", "b"), arrays={"logits": logits},
        epochs=(1,),
    )  # fmt: skip
    found = {measure: score("disagreement", signals, measure=measure).values for measure in
             ("information", "entropy", "variation")}  # fmt: skip
    assert found["information"] == pytest.approx([0, np.log(2), 0], abs=1e-4)
    assert found["entropy"] == pytest.approx([0, np.log(2), np.log(2)], abs=1e-4)
    assert found["variation"].tolist() == [0.0, 0.5, 0.0]


def test_prototype_ignores_length_and_class_prototype_uses_its_own_class():
    points = np.array([[1.0, 0.0], [9.0, 0.0], [0.0, 1.0], [0.0, 5.0], [1.0, 1.0], [1.0, 0.0]])
    signals = Signals(
        ids=np.arange(6),
        task="classification",
        labels=[0, 0, 1, 1, 1, 1],
        classes=("a", "b"),
        arrays={"embeddings": points},
    )
    near = score("prototype", signals, k=2).values
    assert near[0] == near[1] == near[5]
    assert near.argmax() == 4
    own = score("class_prototype", signals).values
    assert own.argmax() == 5
    assert own[0] == pytest.approx(0, abs=1e-12)
    assert own[5] == pytest.approx(1 - 2 / np.hypot(2, 7))


def test_prototype_counts_clusters_where_there_are_no_classes():
    points = np.eye(12)[np.arange(36) % 10]
    signals = Signals(ids=np.arange(36), task="unlabelled", arrays={"embeddings": points})
    assert np.allclose(score("prototype", signals).values, 0, atol=1e-6)  # ten directions, ten centroids
    assert score("prototype", signals, k=3).values.max() > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_centroids_are_spherical_on_data_without_clusters(seed):
    """Where clusters overlap, centroids that are not scaled to length one end elsewhere."""
    points = np.random.default_rng(seed).normal(0.3, 1.0, size=(60, 4))
    unit = unit_rows(points)
    twin = oracle.tightest_lloyd(unit, 5, seed, np.arange(60))
    assert np.allclose(
        spherical_centroids(points, 5, seed, "test", np.arange(60)), unit_rows(np.array(twin)), atol=1e-5
    )


def test_prototype_leaves_the_threads_of_faiss_as_they_were(small):
    import faiss

    before = faiss.omp_get_max_threads()
    score("prototype", small)
    assert faiss.omp_get_max_threads() == before


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("aum", {"on": "probabilities"}),
        ("dual", {"window": 4, "epochs": 9}),
        ("dual", {"window": 14, "epochs": 30}),
        ("dynamic_uncertainty", {"window": 2, "epochs": 5}),
        ("tdds", {"window": 3, "decay": 0.3}),
        ("tdds", {"window": 14, "decay": 1.0}),
        ("tdds", {"window": 6, "difference": "loss"}),
        ("interchangeability", {"threshold": 0.6}),
        ("interchangeability", {"threshold": 0.95}),
        ("contradiction", {"share": 1.0}),
        ("contradiction", {"share": 0.01}),
    ],
)
def test_parameters_against_the_twin(name, options, small):
    assert np.allclose(score(name, small, **options).values, oracle.TWINS[name](small, **options), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("epochs", "planned", "asked", "meant"),
    [
        (tuple(range(1, 31)), 30, "early", 3),
        (tuple(range(1, 31)), 31, "early", 4),
        (tuple(range(1, 11)), 10, "early", 1),
        ((5, 10, 15, 20), 100, "early", 10),
        ((5, 10, 15, 20), 400, "early", 20),
        ((5, 10, 15, 20), 0, "early", 5),
        ((5, 10, 15, 20), 100, "last", 20),
        ((5, 10, 15, 20), 100, 15, 15),
    ],
)
def test_which_epoch_is_meant(epochs, planned, asked, meant):
    logits = np.zeros((1, len(epochs), 2, 2))
    logits[0, epochs.index(meant), :, 0] = 3.0
    signals = of_logits(logits, [0, 1], epochs, planned)
    out = score("el2n", signals, epoch=asked)
    assert out.provenance["parameters"]["epoch"] == meant
    assert out.values[0] < 0.1 < 1.3 < out.values[1]


def test_reliability_is_between_even_and_odd_seeds():
    logits = np.zeros((3, 1, 4, 2), dtype=np.float32)
    logits[0, 0, :, 0] = logits[2, 0, :, 0] = [4, 3, 2, 1]
    logits[1, 0, :, 0] = [1, 2, 3, 4]
    assert score("el2n", of_logits(logits, [0] * 4)).reliability == pytest.approx(-1)


def test_half_an_ensemble_may_not_do():
    member = np.array([[1, 1], [0, 0], [1, 1], [0, 0]])
    signals = Signals(
        ids=[1, 2],
        task="classification",
        labels=[0, 1],
        classes=("a", "b"),
        arrays={"ensemble_member": member, "ensemble_correct": member},
    )
    out = score("memorization", signals)
    assert out.values.tolist() == [1, 1]
    assert out.reliability is None


def test_seeds_and_ensembles_of_other_numbers_do_not_mix(small):
    assert small.array("ensemble_member").shape[0] > small.logits.shape[0]
    assert score("memorization", small).reliability is not None
    assert score("el2n", small).reliability is not None


def test_starts_that_compete_on_a_sample_end_where_all_rows_do():
    rng = np.random.default_rng(2)
    middles = rng.standard_normal((5, 12))
    which = rng.integers(0, 5, 6_000)
    points = (3 * middles[which] + rng.standard_normal((6_000, 12))).astype(np.float32)
    found = spherical_centroids(points, 5, 0, "test", np.arange(6_000))
    unit = unit_rows(points)
    nearest = (unit @ found.T).argmax(axis=1)
    means = unit_rows(np.stack([unit[nearest == c].mean(axis=0) for c in range(5)]))
    np.testing.assert_allclose(found, means, atol=1e-4)  # refined on all rows until nothing moves
    for c in range(5):
        inside = np.bincount(which[nearest == c], minlength=5)
        assert inside.max() > 0.95 * inside.sum()
