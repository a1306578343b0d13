"""The trial of what is flagged: wrong labels stay flagged, right ones that a training needs do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import winnow as wn
from winnow.artefacts import Source
from winnow.checking.flag_trial import supported_from
from winnow.scores.mislabelled import LabelEvidence
from winnow.scores.ridge_head import ridge_head

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
    return LabelEvidence(sure, np.eye(2)[truth], float(sure.mean()), True, given, None, head), source, doubted


def test_labels_are_not_flagged_if_training_without_them_gets_worse() -> None:
    found, source, doubted = evidence(0.0)
    border = supported_from(found, source.ids, 0.5)
    assert (found.probability >= border).sum() < doubted.sum() / 2
    wrong, source, _ = evidence(1.0)
    assert supported_from(wrong, source.ids, 0.5) == 0.5
    assert supported_from(replace(found, head=None), source.ids, 0.5) == 0.5
