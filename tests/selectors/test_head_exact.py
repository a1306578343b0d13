"""The selector of exact weighted heads: what the room gives, under quotas and for regression."""

from __future__ import annotations

import numpy as np

import winnow as wn
from winnow.methods.influence.observed_head import head_features
from winnow.testing.planted import planted


def change(signals, subset, damping):
    """How far the head trained on the subset is from the head trained on everything."""
    sorted_by_id = signals.canonical()
    features, labels = head_features(sorted_by_id.embeddings), sorted_by_id.labels
    where = np.searchsorted(sorted_by_id.ids, subset.ids)
    whole = wn.influence.fit_head(features, labels, damping).theta
    few = wn.influence.fit_head(features[where], labels[where], damping, weights=subset.weights).theta
    return float(np.linalg.norm(few - whole))


def test_a_head_trained_on_the_subset_is_the_head_of_all():
    signals = planted(counts=(200, 150, 100), seeds=1, epochs=2).signals
    size = signals.embeddings.reshape(450, -1).shape[1] * 2 + 60
    for balance in (None, 0.5):
        subset = wn.select("head_exact", signals, size=size, balance=balance, damping=0.02)
        assert len(subset) == size
        assert subset.certificate["exact"]
        assert change(signals, subset, 0.02) < 1e-8
        assert abs(subset.weights.sum() - 450) < 1e-6
    tight = wn.select("head_exact", signals, size=size, largest=1.8, damping=0.02)
    assert tight.weights.max() <= 1.8 * 450 / size * (1 + 1e-9)
