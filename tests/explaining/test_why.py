"""why: influences by training again, a planted teacher is found, draws are by id, and bad input gets one sentence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import winnow as wn
from tests.oracles import explaining as slow
from winnow.artefacts.mistakes import Mistake, Mistakes, Teacher
from winnow.core.errors import InputError, NotDefinedError, NotFoundError, WinnowError
from winnow.explaining.head_mistakes import HeadMistakes

HOW = {"model": "mlp", "recipe": wn.Recipe(epochs=3, batch=32), "worst": 3, "k": 4, "draws": 2}
LAM = 0.02


@pytest.fixture(scope="module")
def digits() -> tuple[wn.Source, wn.Source]:
    return wn.open("digits", limit=200), wn.open("digits", split="test")


@pytest.fixture(scope="module")
def first(digits) -> Mistakes:
    return wn.why(*digits, **HOW)


def problem(n=60, tests=5):
    rng = np.random.default_rng(3)
    labels, truth = np.arange(n) % 3, np.arange(tests) % 3
    rows = np.hstack([rng.normal(size=(n, 2)) + 0.8 * labels[:, None], np.ones((n, 1))])
    others = np.hstack([rng.normal(size=(tests, 2)) + 0.8 * truth[:, None], np.ones((tests, 1))])
    ids = np.array([f"{i:03d}" for i in range(n)])
    return HeadMistakes.of(rows, labels, ids, others, truth, 3, LAM)


def test_influences_are_what_leaving_out_does():
    head = problem()
    removals = [[i] for i in (0, 7, 13, 29, 44)]
    found = head.influences(np.arange(5))[:, [one[0] for one in removals]].T
    twin = slow.changes_by_retraining(head.rows, head.labels, head.others, head.truth, 3, LAM, removals)
    size = np.abs(twin).max()
    assert np.abs(found - twin).max() < 0.15 * size  # to first order
    assert np.corrcoef(found.ravel(), twin.ravel())[0, 1] > 0.99
    assert np.abs(head.influences(np.arange(5)).sum(axis=1)).max() < 1e-7  # removing everything alike changes nothing


def test_training_again_is_what_the_twin_finds():
    head = problem()
    sets = [[0, 5, 9], [2, 3, 40, 41]]
    twin = slow.changes_by_retraining(head.rows, head.labels, head.others, head.truth, 3, LAM, sets)
    for row, removed in zip(twin, sets, strict=True):
        for test in range(5):
            assert head.without(np.array(removed), test) == pytest.approx(row[test], abs=1e-5)


def test_losses_are_those_of_the_head():
    head = problem()
    wanted = [slow.loss_at(head.theta, x, y) for x, y in zip(head.others, head.truth, strict=True)]
    np.testing.assert_allclose(head.losses(), wanted)


def test_draws_have_the_labels_asked_for_and_follow_the_ids():
    head = problem()
    labels = np.array([0, 0, 2])
    found = head.drawn(labels, ("own class", "t", 0), 0)
    assert sorted(head.labels[found].tolist()) == [0, 0, 2]
    assert np.unique(found).size == 3
    turned = np.arange(60)[::-1]
    other = dataclasses.replace(head, rows=head.rows[turned], labels=head.labels[turned], ids=head.ids[turned])
    assert set(other.ids[other.drawn(labels, ("own class", "t", 0), 0)]) == set(head.ids[found])
    assert any(not np.array_equal(found, head.drawn(labels, ("own class", "t", number), 0)) for number in range(1, 4))


def test_it_names_the_wrong_labels_that_teach_a_mistake(digits):
    source, test = digits
    labels = source.labels.copy()
    poisoned = np.flatnonzero(labels == 0)[:8]
    labels[poisoned] = 6  # test zeros are then taken for sixes
    taught = source.with_labels(labels, "classification", source.classes)
    zeros = test.ids[np.asarray(test.labels) == 0][:6]
    found = wn.why(taught, test, zeros, **{**HOW, "k": 8, "draws": 1, "recipe": wn.Recipe(epochs=12, batch=32)})
    bad = set(source.ids[poisoned].tolist())
    blamed = [len(bad & {teacher.id for teacher in one.teachers}) for one in found.mistakes]
    assert np.mean(blamed) > 4  # of 8, where 8 random ones of 200 would name 0.3
    assert [one.label for one in found.mistakes] == ["0"] * 6
    assert all(one.found < 0 for one in found.mistakes)


def test_the_numbers_fit_together(first, digits):
    source, test = digits
    assert (first.examples, first.tested, first.k) == (200, len(test), 4)
    assert 0 < first.wrong < len(test)
    assert len(first.mistakes) == 3
    losses = [one.loss for one in first.mistakes]
    assert losses == sorted(losses, reverse=True)
    for one in first.mistakes:
        assert one.label != one.predicted
        assert one.label == source.classes[test.labels[test.positions([one.id])[0]]]
        told = [teacher.influence for teacher in one.teachers]
        assert told == sorted(told)
        assert one.foretold == pytest.approx(sum(told) * 199 / 196)
        assert one.found < 0  # their removal helps
        assert len(one.random) == len(one.matched) == 2
        assert len(one.alike) == 4
        near = [teacher.cosine for teacher in one.alike]
        assert near == sorted(near, reverse=True)
        assert all(-1 <= value <= 1.0001 for value in near)
        assert all(teacher.label == one.predicted for teacher in one.alike[:1])


def test_order_does_not_matter_and_the_seed_does(first, digits):
    source, test = digits
    turned = wn.why(source.at(np.arange(200)[::-1]), test.at(np.arange(len(test))[::-1]), **HOW)
    assert [one.id for one in turned.mistakes] == [one.id for one in first.mistakes]
    assert turned.mistakes == first.mistakes
    assert wn.why(source, test, **HOW, seed=1).mistakes != first.mistakes


def test_a_test_example_keeps_its_answer_when_others_join(first, digits):
    source, test = digits
    one = first.mistakes[1]
    alone = wn.why(source, test, one.id, **HOW)
    few = wn.why(source, test.at(test.positions([one.id, first.mistakes[0].id])), [one.id], **HOW)
    for found in (alone, few):
        (again,) = found.mistakes
        assert [teacher.id for teacher in again.teachers] == [teacher.id for teacher in one.teachers]
        assert again.found == pytest.approx(one.found, rel=1e-4)
        assert again.random == pytest.approx(one.random, rel=1e-4)  # the same draws


def test_without_draws_nothing_is_trained_again(digits):
    found = wn.why(*digits, **{**HOW, "draws": 0})
    assert all(one.found is None and one.confirmed is None for one in found.mistakes)
    assert found.confirmed == (0, 0)
    assert "checked" not in str(found)


def test_what_confirmed_means():
    base = {"id": "a", "label": "1", "predicted": "2", "loss": 2.0, "teachers": (), "foretold": -0.5}
    assert Mistake(**base, found=-0.4, random=(0.1, -0.3)).confirmed
    assert not Mistake(**base, found=-0.4, random=(0.1, 0.6)).confirmed  # a random removal did more
    assert not Mistake(**base, found=0.4, random=(0.1,)).confirmed  # the other direction
    assert Mistake(**base, found=-0.4).confirmed is None
    assert Mistake(**base).confirmed is None


def test_saved_loaded_printed(first, digits, tmp_path):
    again = wn.why(*digits, **HOW, out=tmp_path / "run")
    assert Mistakes.load(tmp_path / "run" / "why.json") == again
    assert again.mistakes == first.mistakes
    assert (tmp_path / "run" / "why.html").read_text().startswith("<!doctype html>")
    text = str(first)
    assert f"{first.wrong} of {first.tested} test examples are wrong" in text
    assert all(str(one.id) in text for one in first.mistakes)
    frame = first.to_pandas()
    assert len(frame) == 12
    assert list(frame["influence"][:4]) == [one.influence for one in first.mistakes[0].teachers]
    assert isinstance(first.mistakes[0].teachers[0], Teacher)


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ({"ids": "nobody"}, InputError, "'nobody' is not among its 359"),
        ({"ids": []}, InputError, "ids of why must be one id"),
        ({"ids": ["a", "a"]}, InputError, "each once"),
        ({"k": 101}, InputError, "k of why must be at most half of the 200"),
        ({"k": 0}, InputError, "k of why"),
        ({"worst": 0}, InputError, "worst of why"),
        ({"damping": 0}, InputError, "damping of why"),
        ({"draws": -1}, InputError, "draws of why"),
    ],
)
def test_refused(digits, how, kind, words):
    with pytest.raises(kind, match=words) as told:
        wn.why(*digits, **{**HOW, **how})
    assert str(told.value).count("\n") == 0


def test_data_without_test_labels_or_classes_are_refused(digits):
    source, test = digits
    with pytest.raises(NotFoundError, match="pass test="):
        wn.why((np.eye(6), [0, 1] * 3))
    with pytest.raises(NotDefinedError, match="class labels"):
        wn.why((np.eye(6), np.linspace(0, 1, 6)), (np.eye(6), np.linspace(0, 1, 6)))
    with pytest.raises(WinnowError):
        wn.why(source, test.read(np.arange(20)))
