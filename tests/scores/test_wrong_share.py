"""The share of wrong labels: it follows the floor that wrong labels leave, and not how hard the data are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import mislabelled as oracle
from winnow.scores.wrong_share import LEAST, floor_share, moved_share, share_interval, share_numbers, wrong_share


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


@pytest.mark.parametrize("hard", [0.1, 0.3])
def test_hard_data_without_errors_do_not_look_wrong(hard: float) -> None:
    classes, labels = predicted(0.0, hard)
    assert 0.1 < (classes.argmax(axis=1) != labels).mean() < 0.6  # so often another class is likeliest
    assert wrong_share(classes, labels, out_of_fold=True) < 0.06


def test_labels_that_move_to_one_class_are_counted_too() -> None:
    draw = np.random.default_rng(0)
    clean = draw.dirichlet(np.full(5, 0.1), size=4000)
    truth = (clean.cumsum(axis=1) < draw.random((4000, 1))).sum(axis=1)
    labels = np.where(draw.random(4000) < 0.2, (truth + 1) % 5, truth)
    noisy = 0.8 * clean + 0.2 * np.roll(clean, 1, axis=1)
    assert wrong_share(noisy, labels, out_of_fold=True) == pytest.approx(0.2, abs=0.06)


def test_the_share_is_the_likeliest_of_all_that_are_tried() -> None:
    classes, labels = predicted(0.2, 0.2, seed=4)
    few, given = classes[:300], labels[:300]
    found = moved_share(few, given)
    best, rate, _ = oracle.moved(few, given, np.linspace(0, 0.4, 21), np.exp(np.linspace(-0.4, 1.2, 9)))
    assert found == pytest.approx(rate, abs=0.05)
    assert max(oracle.moved(few, given, [found], np.exp(np.linspace(-0.4, 1.2, 33)))) >= best - 1e-3


def test_moved_labels_are_found_by_likelihood_where_networks_did_not_learn_the_floor() -> None:
    """Probabilities without the floor, as of networks that do not learn it: the likelihood finds the moved labels."""
    draw = np.random.default_rng(1)
    clean = draw.dirichlet(np.full(5, 0.2), size=4000)
    truth = (clean.cumsum(axis=1) < draw.random((4000, 1))).sum(axis=1)
    labels = np.where(draw.random(4000) < 0.15, (truth + draw.integers(1, 5, 4000)) % 5, truth)
    flat = clean**0.6 / (clean**0.6).sum(axis=1, keepdims=True)
    assert moved_share(flat, labels) == pytest.approx(0.15, abs=0.04)


def test_a_floor_is_extrapolated_to_the_surest() -> None:
    sure = np.linspace(0.9, 0.6, 100)
    classes = np.stack([sure, 1 - sure], axis=1)
    labels = np.zeros(100, dtype=int)
    labels[[3, 15, 18, 22, 25, 28]] = 1  # one of ten, then six of thirty
    assert floor_share(classes, labels) == pytest.approx(2 * 0.1 - 0.2)
    labels[[1, 5]] = 1  # three of ten, eight of thirty: no more than these
    assert floor_share(classes, labels) == pytest.approx(8 / 30)


def test_one_class_or_one_example_is_no_trouble() -> None:
    assert moved_share(np.ones((3, 1)), np.zeros(3, dtype=int)) < 1e-6
    assert 0 <= moved_share(np.array([[0.3, 0.7]]), np.array([0])) <= 1


def test_the_interval_holds_the_estimate_and_narrows_with_what_a_person_said() -> None:
    for blind in (True, False):
        low, high = share_interval(0.1, blind)
        assert low < 0.1 < high
        nearer = share_interval(0.1, blind, unknown=0.5)
        assert low < nearer[0] < 0.1 < nearer[1] < high
        assert np.allclose(share_interval(0.1, blind, unknown=0.0), 0.1, atol=1e-5)


def test_it_never_says_none_at_all() -> None:
    labels = np.arange(50) % 5
    assert wrong_share(np.eye(5)[labels], labels, out_of_fold=True) == LEAST[True]
    assert wrong_share(np.eye(5)[labels], labels, out_of_fold=False) >= LEAST[False]


def test_the_numbers_by_hand() -> None:
    classes, labels = predicted(0.2, 0.2, seed=3)
    assert np.allclose(share_numbers(classes[:200], labels[:200]), oracle.numbers(classes[:200], labels[:200]))


def test_networks_that_know_nothing_say_nothing_about_labels() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 3, 92)
    classes = draw.dirichlet([20, 20, 20], 92)
    assert wrong_share(classes, labels, True) == LEAST[True]
    other = np.where(np.arange(3) == ((labels + 1) % 3)[:, None], 0.4, 0.3)  # worse than chance
    assert wrong_share(other, labels, True) == LEAST[True]
