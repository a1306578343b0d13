"""The influence selectors: what the solver of the room gives, told in a subset's certificate."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.influence.observed_head import head_features
from winnow.methods.influence.pruned import proportional
from winnow.testing.planted import planted


@pytest.fixture(scope="module")
def signals():
    return planted(counts=(60, 40, 20), seeds=1, epochs=2).signals


def by_hand(signals, damping=0.01):
    """Features, labels and head in order of the ids."""
    sorted_by_id = signals.canonical()
    features = head_features(sorted_by_id.embeddings)
    return (
        features,
        sorted_by_id.labels,
        wn.influence.fit_head(features, sorted_by_id.labels, damping),
        sorted_by_id.ids,
    )


def test_features_are_scaled_and_end_in_ones():
    found = head_features(np.array([[1.0, 5.0, 1e30], [3.0, 5.0, -1e30]], dtype=np.float32))
    assert np.allclose(found, [[-1, 0, 1, 1], [1, 0, -1, 1]])


def test_keeps_what_the_room_keeps(signals):
    features, labels, head, ids = by_hand(signals)
    vectors = wn.influence.vectors(features, head.outputs, labels, 0.01)
    wanted = wn.influence.prune_by_count(vectors, 70, 3, groups=labels, ids=ids)
    subset = wn.select("influence", signals, size=50, balance=None, seed=3)
    assert np.array_equal(subset.ids, np.delete(ids, wanted.removed))
    kept = np.isin(ids, subset.ids)
    theta = wn.influence.fit_head(features[kept], labels[kept], 0.01).theta
    actual = np.linalg.norm(theta - head.theta)
    assert subset.certificate["corrected"] == pytest.approx(actual, rel=1e-3)
    assert actual < subset.certificate["random"] / 2
    assert "retrained from scratch" in subset.certificate["covers"]


def test_shares_of_the_classes(signals):
    labels = signals.canonical().labels
    for stratify in (True, False):
        subset = wn.select("influence", signals, size=30, balance=None, stratify=stratify)
        counts = list(subset.certificate["class_counts"].values())
        assert (counts == (np.bincount(labels) - proportional(labels, 90)).tolist()) or not stratify


def test_the_bound_is_told_whether_it_holds_or_not(signals):
    loose = wn.select("influence_bound", signals, size=100, balance=None, epsilon=0.5)
    assert loose.certificate["holds"]
    assert loose.certificate["corrected"] <= loose.certificate["bound"]
    assert loose.certificate["smallest_size"] == 100
    tight = wn.select("influence_bound", signals, size=10, balance=None, epsilon=0.05)
    assert not tight.certificate["holds"]
    assert 10 < tight.certificate["smallest_size"] < 120
    again = wn.select("influence_bound", signals, size=tight.certificate["smallest_size"], balance=None, epsilon=0.05)
    assert again.certificate["holds"]
    same = wn.select("influence", signals, size=10, balance=None)
    assert np.array_equal(same.ids, tight.ids)


def test_the_bound_finds_the_size(signals):
    sizes = []
    for epsilon in (0.01, 0.05, 0.4):
        subset = wn.select("influence_bound", signals, epsilon=epsilon)
        about = subset.certificate
        assert about["holds"]
        assert about["corrected"] <= about["bound"]
        assert len(subset) == about["size"] == about["smallest_size"]
        assert subset.provenance["parameters"]["size"] == len(subset)
        sizes.append(len(subset))
    assert sizes[0] >= sizes[1] >= sizes[2] > 0
    assert sizes[0] > sizes[2]  # a looser bound keeps fewer
    assert sizes[2] < 50  # of 120
    with pytest.raises(InputError, match=r"balance of selector 'influence_bound' needs keep or size"):
        wn.select("influence_bound", signals, epsilon=0.1, balance=0.5)
    with pytest.raises(InputError, match="exactly one of"):
        wn.select("influence_bound", signals)
    with pytest.raises(UnknownNameError, match="epsilon"):
        wn.select("influence", signals, size=30, epsilon=0.1)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("influence", {"damping": 0}, "damping of selector 'influence' must be a number above 0"),
        ("influence", {"moves": -5}, "moves of selector 'influence'"),
        ("influence_bound", {"epsilon": 0}, "epsilon of selector 'influence_bound' must be a number above 0"),
        ("influence_bound", {"damping": -1}, "damping of selector 'influence_bound'"),
    ],
)
def test_refusals(signals, name, options, says):
    with pytest.raises(wn.errors.InputError, match=says):
        wn.select(name, signals, size=9, **options)
