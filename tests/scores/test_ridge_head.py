"""The ridge head: each prediction is by a fit to the others, and leaving out wrong labels shows on held-out ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import ridge as oracle
from winnow.scores import ridge_head as module
from winnow.scores.ridge_head import cleaning_gain, ridge_head


def rings(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points in the plane, and whether they are far from its middle, which no straight line tells."""
    points = np.random.default_rng(seed).normal(size=(n, 2))
    return points.astype(np.float32), (np.square(points).sum(axis=1) > 1.4).astype(np.int64)


def test_each_prediction_is_by_a_fit_to_the_others() -> None:
    rows, labels = rings(60)
    targets = np.eye(2)[labels]
    head = ridge_head(rows, np.arange(60), targets)
    slow = oracle.left_out(head.features(np.arange(60)), targets, head.penalty)
    assert np.allclose(head.predictions, slow, atol=1e-6)


def test_a_label_has_no_part_in_its_own_prediction() -> None:
    rows, labels = rings(80)
    before = ridge_head(rows, np.arange(80), np.eye(2)[labels])
    turned = labels.copy()
    turned[7] = 1 - turned[7]
    slow = oracle.left_out(before.features(np.arange(80)), np.eye(2)[turned], before.penalty)
    assert np.abs(slow[7] - before.predictions[7]).max() < 0.02  # but for the mean of all labels


def test_it_tells_what_no_straight_line_tells() -> None:
    rows, labels = rings(600)
    found = ridge_head(rows, np.arange(600), np.eye(2)[labels]).predictions
    assert (found.argmax(axis=1) == labels).mean() > 0.93


def test_few_are_fitted_to_and_all_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = rings(600)
    monkeypatch.setattr(module, "TRIED", 150)
    monkeypatch.setattr(module, "FITTED", 300)
    monkeypatch.setattr(module, "BLOCK", 64)
    found = ridge_head(rows, np.arange(600), np.eye(2)[labels]).predictions
    assert (found.argmax(axis=1) == labels).mean() > 0.9


def test_the_order_of_the_examples_plays_no_part() -> None:
    rows, labels = rings(100)
    ids, mixed = np.arange(100), np.random.default_rng(1).permutation(100)
    first = ridge_head(rows, ids, np.eye(2)[labels]).predictions
    second = ridge_head(rows[mixed], ids[mixed], np.eye(2)[labels][mixed]).predictions
    assert np.allclose(second, first[mixed], atol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_hardly_any_examples_and_equal_rows_are_no_trouble(n: int) -> None:
    targets = np.eye(2)[np.arange(n) % 2]
    for rows in (np.zeros((n, 3), dtype=np.float32), np.arange(3 * n, dtype=np.float32).reshape(n, 3)):
        assert np.isfinite(ridge_head(rows, np.arange(n), targets).predictions).all()


def test_leaving_out_wrong_labels_gains_and_leaving_out_right_ones_loses() -> None:
    rows, truth = rings(800)
    ids, draw = np.arange(800), np.random.default_rng(3)
    wrong = draw.random(800) < 0.3
    given = np.where(wrong, 1 - truth, truth)
    targets = np.eye(2)[given]
    head = ridge_head(rows, ids, targets)
    gain, error = cleaning_gain(head, ids, targets, wrong)
    assert gain > 2 * error
    near = np.abs(np.square(rows).sum(axis=1) - 1.4) < 0.7  # right, but near the border
    clean = np.eye(2)[truth]
    outside = near & (truth == 1)
    loss, error = cleaning_gain(ridge_head(rows, ids, clean), ids, clean, outside)
    assert loss < -2 * error
    assert cleaning_gain(head, ids, targets, np.ones(800, dtype=bool)) == (0.0, 1.0)
