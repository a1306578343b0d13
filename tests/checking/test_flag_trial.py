"""The trial of what is flagged: wrong labels stay flagged, right ones that a training needs do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import winnow as wn
from winnow.artefacts import Source
from winnow.checking.flag_trial import supported_from
from winnow.scores.mislabelled import LabelEvidence
from winnow.scores.ridge_head import cleaning_gain, ridge_head

N = 800


def rings(share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, their true and given classes, and who is doubted: this share of the doubted is wrong.

    If none is, those are doubted that the border of the two classes follows from.
    """
    draw = np.random.default_rng(5)
    points = draw.normal(size=(N, 2)).astype(np.float32)
    from_middle = np.square(points).sum(axis=1)
    truth = (from_middle > 1.4).astype(np.int64)
    doubted = (np.abs(from_middle - 1.4) < 0.7) & (truth == 1) if share == 0 else draw.random(N) < 0.25
    return points, truth, np.where(doubted & (draw.random(N) < share), 1 - truth, truth), doubted


def evidence(share: float) -> tuple[LabelEvidence, Source, np.ndarray]:
    points, truth, given, doubted = rings(share)
    sure = np.where(doubted, 0.6, 0.01) + 0.05 * np.random.default_rng(6).random(N)
    source = wn.open((points, given), ids=[f"e{place:03d}" for place in range(N)])
    head = ridge_head(points, source.ids, np.eye(2)[given])
    return LabelEvidence(sure, np.eye(2)[truth], float(sure.mean()), sure, True, given, None, head), source, doubted


def test_labels_are_not_flagged_if_training_without_them_gets_worse() -> None:
    found, source, doubted = evidence(0.0)
    border = supported_from(found, source.ids, 0.5)
    assert (found.probability >= border).sum() < doubted.sum() / 2
    wrong, source, _ = evidence(1.0)
    assert supported_from(wrong, source.ids, 0.5) == 0.5
    assert supported_from(replace(found, head=None), source.ids, 0.5) == 0.5


def test_errors_that_the_fit_learned_stay_flagged_though_it_predicts_them_in_held_out_labels() -> None:
    """Half of one class is called the next one: a fit to these labels agrees with held-out ones more often."""
    draw, size = np.random.default_rng(2), 4000
    truth = draw.integers(0, 4, size)
    points = (np.eye(4)[truth] * 2 + draw.normal(size=(size, 4))).astype(np.float32)
    wrong = (truth == 1) & (draw.random(size) < 0.55)
    given = np.where(wrong, 2, truth)
    sure = np.where(wrong, 0.9, 0.01)
    ids = np.array([f"e{place:04d}" for place in range(size)])
    head = ridge_head(points, ids, np.eye(4)[given])
    gain, error = cleaning_gain(head, ids, np.eye(4)[given], wrong)
    assert gain < -1.64 * error  # it would be held back if any certain loss counted
    found = LabelEvidence(sure, np.eye(4)[truth], float(sure.mean()), sure, True, given, None, head)
    assert supported_from(found, ids, 0.5) == 0.5
    assert gain > -0.2 * wrong.mean()
