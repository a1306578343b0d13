"""The probability that a label is wrong: planted errors come first, and it is a probability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import winnow as wn
from tests.oracles import mislabelled as oracle
from tests.signals.small import shuffled
from winnow.engines import Local
from winnow.scores.class_opinions import TREES, class_opinions, head_votes, neighbour_votes, tree_votes
from winnow.scores.mislabelled import at_share, label_evidence
from winnow.scores.ridge_head import ridge_head

ONE = Local(workers=1)


@pytest.fixture(scope="module")
def flipped() -> tuple[wn.Source, np.ndarray, np.ndarray]:
    """Digits with 5 % of the labels wrong; which, and the truth."""
    source = wn.open("digits", limit=600)
    truth, draw = np.asarray(source.labels), np.random.default_rng(3)
    wrong = np.zeros(len(source), dtype=bool)
    wrong[draw.permutation(len(source))[:30]] = True
    given = np.where(wrong, (truth + draw.integers(1, 10, len(source))) % 10, truth)
    return replace(source, labels=given), wrong, truth


@pytest.fixture(scope="module")
def seen(flipped) -> wn.Signals:
    source, _, _ = flipped
    found = wn.observe(source, "mlp", wn.Recipe(epochs=6, batch=16), want="oof", folds=3, engine=ONE)
    rows = source.read(np.arange(len(source))).reshape(len(source), -1).astype(np.float32)
    axes = {**(found.axes or {}), "embeddings": ("examples", "embedding")}
    return replace(found, arrays={**found.arrays, "embeddings": rows}, axes=axes)


def without(signals: wn.Signals, *names: str) -> wn.Signals:
    return replace(signals, arrays={name: one for name, one in signals.arrays.items() if name not in names})


@pytest.mark.parametrize(
    ("left_out", "least"), [((), 0.9), (("embeddings",), 0.8), (("oof", "embeddings"), 0.5), (("margins",), 0.8)]
)
def test_planted_errors_come_first_whatever_was_recorded(flipped, seen, left_out, least) -> None:
    found = label_evidence(without(seen, *left_out))
    assert found.out_of_fold == ("oof" not in left_out)
    assert average_precision_score(flipped[1], found.probability) > least


def test_the_score_uses_what_is_there_beyond_what_it_needs(seen) -> None:
    few = without(seen, "oof", "embeddings")
    for signals in (seen, without(seen, "embeddings"), few):
        assert np.allclose(wn.score("mislabelled", signals).values, label_evidence(signals).probability, atol=1e-9)
    assert not np.allclose(wn.score("mislabelled", seen).values, wn.score("mislabelled", few).values, atol=0.05)


def test_it_is_a_probability_whose_mean_is_the_share(seen) -> None:
    found = label_evidence(seen)
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    assert found.probability.mean() == pytest.approx(found.share, abs=1e-9)
    assert 0.02 < found.share < 0.15  # 5 % in truth
    assert np.allclose(found.posterior().sum(axis=1), 1)
    assert np.allclose(found.posterior()[np.arange(600), found.labels], 1 - found.probability)


def test_the_suggestion_is_the_truth_for_most_errors_and_never_the_label(flipped, seen) -> None:
    _, wrong, truth = flipped
    found = label_evidence(seen)
    assert (found.suggestion != found.labels).all()
    assert (found.suggestion == truth)[wrong].mean() > 0.8
    assert (found.suggestion_probability <= found.probability + 1e-12).all()


def test_the_order_of_the_examples_plays_no_part(flipped, seen) -> None:
    first = wn.score("mislabelled", seen)
    mixed = wn.score("mislabelled", seen.take(shuffled(flipped[0]).ids))
    assert np.array_equal(mixed.take(first.ids).values, first.values)


def test_class_probabilities_are_those_that_predict_the_labels_best(seen) -> None:
    few = seen.at(np.arange(90))
    labels = np.asarray(few.labels)
    near = oracle.votes(few.embeddings, labels, 10, 10)
    assert np.allclose(neighbour_votes(few, labels, 10), near)
    rows = few.embeddings.reshape(90, -1)
    head = head_votes(ridge_head(rows, few.ids, np.eye(10)[labels]).predictions)
    slow = oracle.joined([few.array("oof").mean(axis=0), near, head], labels)
    said = class_opinions(few)
    fast = said.classes
    assert oracle.cost(fast, labels) <= oracle.cost(slow, labels) + 1e-3
    assert np.abs(fast - slow).max() < 0.02
    assert np.abs(said.rows - oracle.joined([near, head], labels)).max() < 0.02
    bare = class_opinions(without(few, "embeddings"))
    assert bare.rows is None
    assert np.abs(bare.classes - oracle.joined([few.array("oof").mean(axis=0)], labels)).max() < 0.02


def striped(n: int = 400) -> tuple[wn.Signals, np.ndarray]:
    """Two classes in eight stripes of one column of five, which a head cannot tell; a tenth of the labels is wrong."""
    draw = np.random.default_rng(5)
    points = draw.random((n, 5)).astype(np.float32)
    truth, wrong = (8 * points[:, 0]).astype(int) % 2, draw.random(n) < 0.1
    arrays = {"oof": np.full((1, n, 2), 0.5, dtype=np.float32), "embeddings": points}
    given = np.where(wrong, 1 - truth, truth)
    return wn.Signals(np.arange(n), arrays, "classification", given, ("a", "b"), (1,), 1), wrong


def test_trees_do_not_vote_on_examples_that_they_were_grown_on() -> None:
    signals, wrong = striped()
    votes = tree_votes(signals, np.asarray(signals.labels), 2)
    assert np.allclose(votes.sum(axis=1), 1)
    assert votes.min() >= 0.5 / (TREES / np.e + 1) - 1e-12
    right = votes.argmax(axis=1) == np.asarray(signals.labels)
    assert right[~wrong].mean() > 0.85
    assert right[wrong].mean() < 0.25  # grown on them, it would know them by heart
    noise = replace(signals, labels=np.random.default_rng(0).integers(2, size=400))
    assert abs((tree_votes(noise, noise.labels, 2).argmax(axis=1) == noise.labels).mean() - 0.5) < 0.1


def test_trees_are_the_same_in_any_order_and_leave_room_for_absent_classes() -> None:
    signals, _ = striped(120)
    order = np.random.default_rng(1).permutation(120)
    other = signals.at(order)
    votes = tree_votes(signals, np.asarray(signals.labels), 3)
    assert np.array_equal(votes[order], tree_votes(other, np.asarray(other.labels), 3))
    assert votes[:, 2].max() < 0.01


@pytest.mark.parametrize("n", [2, 3, 5])
def test_trees_that_leave_no_example_out_are_no_trouble(n: int) -> None:
    signals, _ = striped(n)
    votes = tree_votes(signals, np.asarray(signals.labels), 2)
    assert np.allclose(votes.sum(axis=1), 1)


def test_trees_vote_on_a_part_of_the_examples_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    signals, _ = striped(120)
    whole = tree_votes(signals, np.asarray(signals.labels), 2)
    monkeypatch.setattr("winnow.scores.class_opinions.BLOCK", 7)
    assert np.array_equal(whole, tree_votes(signals, np.asarray(signals.labels), 2))


def test_trees_find_wrong_labels_of_a_table_that_nothing_else_sees() -> None:
    signals, wrong = striped()
    found = [average_precision_score(wrong, label_evidence(signals, trees=one).probability) for one in (False, True)]
    assert found[1] > 0.6 > 0.4 > found[0]


def test_without_folds_the_class_probabilities_are_what_the_training_predicts(seen) -> None:
    assert np.allclose(class_opinions(without(seen, "oof")).classes, seen.array("predictions").mean(axis=0))


def test_embeddings_are_heard_alone_where_networks_learned_the_rule_of_the_errors() -> None:
    draw = np.random.default_rng(3)
    truth, sign = draw.integers(3, size=600), draw.random(600) < 0.2
    given = np.where(sign, (truth + 1) % 3, truth)  # whoever sees the sign predicts the wrong label
    points = np.eye(3)[truth] * 4 + draw.normal(size=(600, 3))  # the sign is not among the embeddings
    ready = 0.9 * np.eye(3)[given] + 0.1 / 3
    arrays = {"oof": ready[None], "predictions": ready[None], "embeddings": points.astype(np.float32)}
    signals = wn.Signals(np.arange(600), arrays, "classification", given, ("a", "b", "c"), (1,), 1)
    both = average_precision_score(sign, label_evidence(signals).probability)
    assert both > 0.7 > 0.3 > average_precision_score(sign, label_evidence(without(signals, "embeddings")).probability)


def test_the_share_follows_embeddings_that_know_more_than_the_networks() -> None:
    draw = np.random.default_rng(4)
    truth, wrong = draw.integers(4, size=2000), draw.random(2000) < 0.2
    given = np.where(wrong, (truth + 1) % 4, truth)
    points = (np.eye(4)[truth] * 6 + draw.normal(size=(2000, 4))).astype(np.float32)
    # Most labels are beyond the networks; of the others they have learned the wrong ones too.
    lost = draw.random(2000) < 0.85
    heard = np.where(lost[:, None], 0.25, 0.97 * np.eye(4)[given] + 0.01)[None]
    arrays = {"oof": heard, "predictions": heard, "embeddings": points}
    signals = wn.Signals(np.arange(2000), arrays, "classification", given, ("a", "b", "c", "d"), (1,), 1)
    assert abs(label_evidence(signals).share - 0.2) < 0.07
    assert label_evidence(without(signals, "embeddings")).share < 0.05


def test_the_mean_is_any_share_that_is_asked_for() -> None:
    evidence = np.random.default_rng(0).normal(size=50) * 30
    for share in (0.002, 0.3, 0.9):
        found = at_share(evidence, share)
        assert found.mean() == pytest.approx(share, abs=1e-9)
        assert (np.diff(found[np.argsort(evidence)]) >= 0).all()
    assert np.allclose(at_share(np.zeros(5), 0.2), 0.2)
