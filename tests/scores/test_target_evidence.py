from __future__ import annotations

import numpy as np

from winnow.scores.target_evidence import target_evidence


def made(n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Predictions, and targets that are the less exact the larger they are."""
    draw = np.random.default_rng(seed)
    predicted = draw.uniform(1, 100, (n, 1))
    return predicted + 0.1 * predicted * draw.normal(size=(n, 1)), predicted


def test_large_targets_that_are_less_exact_are_not_wrong() -> None:
    truth, predicted = made()
    assert (target_evidence(truth, predicted).probability >= 0.5).sum() <= 3


def test_planted_errors_are_found() -> None:
    truth, predicted = made()
    rng = np.random.default_rng(1)
    planted = rng.permutation(len(truth))[:30]
    truth[planted, 0] += 1.5 * predicted[planted, 0]
    known = target_evidence(truth, predicted)
    flagged = np.flatnonzero(known.probability >= 0.5)
    assert len(set(flagged) & set(planted)) >= 28
    assert len(set(flagged) - set(planted)) <= 3
    assert np.median(known.far[planted]) > 10
    np.testing.assert_allclose(known.expected, predicted, atol=0.5)


def test_few_examples_share_one_deviation_and_equal_ones_are_no_error() -> None:
    truth, predicted = made(60)
    known = target_evidence(truth, predicted)
    gaps = np.abs(truth - predicted - np.median(truth - predicted))
    np.testing.assert_allclose(known.far, (gaps / (1.4826 * np.median(gaps)))[:, 0])
    assert not target_evidence(predicted, predicted).probability.any()


def test_of_several_targets_the_worst_counts() -> None:
    truth, predicted = made()
    both = np.concatenate([truth, truth], axis=1), np.concatenate([predicted, predicted], axis=1)
    both[0][7, 1] += 500
    assert target_evidence(*both).probability[7] > 0.99
