"""The rules for the share of wrong labels that were tried beside that of winnow."""

from __future__ import annotations

import numpy as np
import pytest
from studies.checking.alternatives import BEYOND, RULES, confident_share, report, spread_share


def normal_classes(gap: float, softer: float, count: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Two normal classes; labels are drawn from their odds, made softer by this factor, and these are what is known."""
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 2, count)
    odds = gap * (draw.normal(size=count) + gap * (truth - 0.5)) / softer
    chance = 1 / (1 + np.exp(-odds))
    return np.stack([1 - chance, chance], axis=1), (draw.random(count) < chance).astype(int)


def test_the_spread_of_odds_tells_overlap_from_labels_drawn_at_random() -> None:
    assert spread_share(*normal_classes(2.0, 1.0)) < 0.03
    soft, labels = normal_classes(4.0, 4.0)
    assert spread_share(soft, labels) > 0.1


def test_the_confident_joint_counts_labels_by_hand() -> None:
    classes = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.1, 0.9]])
    labels = np.array([0, 0, 1, 1, 0])
    # usual: .6 for class 0, .85 for class 1; the fourth reaches neither, the last counts for class 1
    assert confident_share(classes, labels) == pytest.approx(1 / 5)


def test_overlap_is_counted_as_wrong_labels_by_the_confident_joint() -> None:
    assert confident_share(*normal_classes(2.0, 1.0)) > 0.05


def test_the_tables_have_a_row_per_rule() -> None:
    cell = {
        "kind": "uniform",
        "rate": 0.2,
        "share": 0.2,
        "numbers": [0.1] * 10,
        "oracle": 0.8,
        "best": 0.8,
        "rules": dict(zip(RULES, (0.2, 0.3, 0.2, 0.5), strict=True)),
        "flags": dict(zip(BEYOND, ([0.2, 0.8], [0.2, 0.6], [0.2, 0.4]), strict=True)),
    }
    lines = report([{**cell, "data": "a"}, {**cell, "data": "b"}])
    assert "| today | 100% |" in lines
    assert "| the larger of today's and by spread | 0% |" in lines
    assert "| forest, fitted on the other sets | 100% |" in lines
    assert "| half more, 2 points at most | 20.0%, 0.75, 0% |" in lines
