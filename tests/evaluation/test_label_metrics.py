"""Mean average precision and F1, and what each test example adds to them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from winnow.artefacts.intervals import crossed
from winnow.evaluation.label_metrics import average_precision, mean_average_precision, micro_macro_f1


def made(n: int = 300, labels: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random((n, labels)) < np.linspace(0.1, 0.6, labels)
    return 1.5 * truth + rng.normal(size=(n, labels)) - 0.7, truth


def weighted(scores: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> float:
    """Average precision of weighted examples, from its definition."""
    total = 0.0
    for i in np.flatnonzero(truth):
        above = scores >= scores[i]
        total += weights[i] * weights[above & truth].sum() / weights[above].sum()
    return total / weights[truth].sum()


@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_is_that_of_scikit_learn(ties):
    scores, truth = made()
    scores = np.round(scores) if ties else scores
    for label in range(truth.shape[1]):
        value, _ = average_precision(scores[:, label], truth[:, label])
        assert value == pytest.approx(average_precision_score(truth[:, label], scores[:, label]), abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_the_part_of_an_example_is_the_slope_in_its_weight(ties):
    scores, truth = made(60, 1)
    scores, truth = (np.round(scores) if ties else scores)[:, 0], truth[:, 0]
    value, marks = average_precision(scores, truth)
    assert marks.mean() == pytest.approx(value, abs=1e-12)
    for i in range(0, 60, 7):
        step = np.zeros(60)
        step[i] = 1e-5
        slope = (weighted(scores, truth, 1 + step) - weighted(scores, truth, 1 - step)) / 2e-5
        assert marks[i] == pytest.approx(value + 60 * slope, abs=1e-4)


def test_the_mean_is_over_labels_that_tell():
    scores, truth = made()
    truth[:, 1] = False
    value, each, marks = mean_average_precision(scores, truth)
    assert np.isnan(each[1])
    kept = [0, 2, 3]
    assert value == pytest.approx(average_precision_score(truth[:, kept], scores[:, kept], average="macro"))
    assert marks.mean() == pytest.approx(value)


def test_f1_is_that_of_scikit_learn():
    scores, truth = made()
    for (value, marks), kind in zip(micro_macro_f1(scores, truth), ("micro", "macro"), strict=True):
        assert value == pytest.approx(f1_score(truth, scores > 0, average=kind))
        assert marks.mean() == pytest.approx(value)


def test_the_standard_error_is_that_of_a_bootstrap():
    scores, truth = made(400)
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(400):
        where = rng.integers(0, 400, 400)
        pair = micro_macro_f1(scores[where], truth[where])
        drawn.append([mean_average_precision(scores[where], truth[where])[0], pair[0][0], pair[1][0]])
    marks = [mean_average_precision(scores, truth)[2], *(parts for _, parts in micro_macro_f1(scores, truth))]
    for of_bootstrap, parts in zip(np.std(drawn, axis=0), marks, strict=True):
        assert parts.std() / np.sqrt(parts.size) == pytest.approx(of_bootstrap, rel=0.12)


def test_intervals_cover_the_truth():
    """Three seeds and 300 test examples: the interval of `crossed` holds the metric of endless test data."""
    everything = mean_average_precision(*_networks(200_000, np.random.default_rng(0))[:2])[0]
    inside = 0
    for trial in range(200):
        rng = np.random.default_rng(trial)
        _, truth, base = _networks(300, rng)
        marks = [mean_average_precision(base + 0.3 * rng.normal(size=base.shape), truth)[2] for _ in range(3)]
        found = crossed(np.array(marks), counted="shares")
        inside += found.low <= everything <= found.high
    assert inside >= 182  # 95 % of 200 are 190, give or take 3


def _networks(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth = rng.random((n, 3)) < (0.15, 0.3, 0.5)
    base = 1.5 * truth + rng.normal(size=(n, 3))
    return base + 0.3 * rng.normal(size=(n, 3)), truth, base
