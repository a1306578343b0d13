"""The share of wrong labels: it follows what the surest examples say, and not how hard the data are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import mislabelled as oracle
from winnow.scores.wrong_share import LEAST, share_numbers, wrong_share


def predicted(share: float, hard: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated class probabilities of 4,000 examples in 5 classes, and labels of which a share is wrong by chance."""
    draw = np.random.default_rng(seed)
    clean = draw.dirichlet(np.full(5, hard), size=4000)  # small numbers: sure predictions
    truth = (clean.cumsum(axis=1) < draw.random((4000, 1))).sum(axis=1)
    wrong = draw.random(4000) < share
    labels = np.where(wrong, (truth + draw.integers(1, 5, 4000)) % 5, truth)
    noisy = (1 - share) * clean + share * (1 - clean) / 4  # what networks learn from such labels
    return noisy, labels


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.4])
def test_the_estimate_is_near_the_truth_for_errors_by_chance(share: float) -> None:
    found = wrong_share(*predicted(share, 0.05), out_of_fold=True)
    assert abs(found - share) <= max(share / 3, 0.04)


def test_more_errors_raise_it_whatever_the_data() -> None:
    for hard in (0.02, 0.05, 0.2):
        found = [wrong_share(*predicted(share, hard), out_of_fold=True) for share in (0.0, 0.1, 0.2, 0.4)]
        assert (np.diff(found) > 0.01).all()


def test_hard_data_without_errors_do_not_look_wrong() -> None:
    classes, labels = predicted(0.0, 0.1)
    assert 0.1 < (classes.argmax(axis=1) != labels).mean() < 0.2  # so often another class is likeliest
    assert wrong_share(classes, labels, out_of_fold=True) < 0.06


def test_it_never_says_none_at_all() -> None:
    labels = np.arange(50) % 5
    assert wrong_share(np.eye(5)[labels], labels, out_of_fold=True) == LEAST[True]
    assert wrong_share(np.eye(5)[labels], labels, out_of_fold=False) >= LEAST[False]


def test_the_numbers_by_hand() -> None:
    classes, labels = predicted(0.2, 0.2, seed=3)
    assert np.allclose(share_numbers(classes[:200], labels[:200]), oracle.numbers(classes[:200], labels[:200]))
