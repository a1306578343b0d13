"""The influence scores: how they rank, their signs, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import winnow as wn
from tests.methods.influence.problems import digits


def of_digits():
    features, labels = digits(900)
    return wn.Signals(
        ids=np.arange(900),
        task="classification",
        labels=labels,
        classes=tuple("0123456789"),
        arrays={"embeddings": features[:, :-1].astype(np.float32)},
    )


def test_the_norm_ranks_as_the_error_of_the_head_does():
    from winnow.methods.influence.observed_head import head_features

    signals = of_digits()
    values = wn.score("influence_norm", signals).values
    head = wn.influence.fit_head(head_features(signals.embeddings), signals.labels, 0.01)
    errors = np.linalg.norm(head.outputs - np.eye(10)[signals.labels], axis=1)
    ranks = [np.argsort(np.argsort(each)) for each in (values, errors)]
    assert np.corrcoef(*ranks)[0, 1] > 0.8


def test_a_wrong_label_does_harm():
    signals = of_digits()
    labels = signals.labels.copy()
    wrong = np.arange(0, 900, 60)
    labels[wrong] = (labels[wrong] + 5) % 10
    made = wn.Signals(
        ids=signals.ids, task="classification", labels=labels, classes=signals.classes, arrays=signals.arrays
    )
    signed = wn.score("loss_influence", made, signed=True).values
    assert (signed[wrong] < 0).mean() > 0.8
    assert np.array_equal(wn.score("loss_influence", made).values, np.abs(signed))


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("influence_norm", {"damping": 0}, "damping of score 'influence_norm' must be a number above 0"),
        ("loss_influence", {"damping": -1}, "damping of score 'loss_influence'"),
        ("loss_influence", {"folds": 1}, "folds of score 'loss_influence'"),
    ],
)
def test_refusals(name, options, says):
    with pytest.raises(wn.errors.InputError, match=says):
        wn.score(name, of_digits(), **options)
