"""The slope of the evidence: steeper where it means more, and the one that a plain search finds."""

from __future__ import annotations

import numpy as np
import pytest

from winnow.scores.evidence_slope import WITHIN, evidence_slope, logistic_slope
from winnow.scores.wrong_share import ahead


@pytest.mark.parametrize(("slope", "border"), [(0.5, -2.0), (1.0, 0.0), (2.5, -4.0)])
def test_the_slope_of_a_logistic_curve_is_found(slope: float, border: float) -> None:
    x = np.random.default_rng(0).normal(size=2000)
    assert logistic_slope(x, 1 / (1 + np.exp(-slope * x - border))) == pytest.approx(slope, rel=1e-4)


def test_no_other_slope_is_nearer() -> None:
    draw = np.random.default_rng(1)
    x = draw.normal(size=400)
    chances = np.clip(0.3 * draw.random(400) + 0.5 * (x > 1), 0.001, 0.999)

    def cost(a: float) -> float:
        return min(np.mean(np.logaddexp(0, a * x + c) - chances * (a * x + c)) for c in np.linspace(-4, 2, 301))

    tried = np.linspace(0.2, 4, 77)
    assert logistic_slope(x, chances) == pytest.approx(tried[np.argmin([cost(a) for a in tried])], abs=0.06)


def test_evidence_of_networks_that_know_more_is_steeper() -> None:
    found = []
    for hard in (1.0, 0.05):
        draw = np.random.default_rng(2)
        clean = draw.dirichlet(np.full(5, hard), size=3000)
        truth = (clean.cumsum(axis=1) < draw.random((3000, 1))).sum(axis=1)
        labels = np.where(draw.random(3000) < 0.2, (truth + draw.integers(1, 5, 3000)) % 5, truth)
        classes = 0.8 * clean + 0.2 * (1 - clean) / 4
        against = ahead(classes, labels)
        found.append(evidence_slope(against / against.std(), classes, labels))
    assert found[1] > found[0] + 0.1


def test_it_stays_within_bounds_and_is_1_without_moved_labels() -> None:
    labels = np.arange(200) % 4
    assert evidence_slope(np.zeros(200), np.eye(4)[labels], labels) == 1.0
    draw = np.random.default_rng(3)
    for _ in range(5):
        classes = draw.dirichlet(np.full(4, 0.2), 200)
        made = evidence_slope(draw.normal(size=200) * 100, classes, draw.integers(0, 4, 200))
        assert WITHIN[0] ** 0.5 <= made <= WITHIN[1] ** 0.5
