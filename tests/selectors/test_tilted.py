"""tilted and uncertainty, the candidate of auto: weights by hand, draws in proportion, and what bad input says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.selectors.pool import Pool
from winnow.selectors.tilted import tilted

SCORES = np.array([0.0, 0.5, 1.0, 1.5, 2.0])


def pool(scores: np.ndarray = SCORES, keep: float = 0.2) -> Pool:
    return Pool(scores.size, keep, "classification", scores=scores, score_name="mine", ids=np.arange(scores.size))


@pytest.mark.parametrize("uniform", [0.2, 0.5, 1.0])
def test_first_draws_follow_the_weights(uniform: float) -> None:
    """Chi-squared with 4 degrees of freedom, p > .001."""
    weights = [uniform + (1 - uniform) * score / (sum(SCORES) / 5) for score in SCORES]
    expected = 4000 * np.array(weights) / sum(weights)
    first = [int(tilted(pool(), 1, seed=seed, uniform=uniform).positions[0]) for seed in range(4000)]
    drawn = np.bincount(first, minlength=5)
    assert (np.square(drawn - expected) / expected).sum() < 18.5


def test_without_a_difference_it_is_a_random_subset() -> None:
    flat = tilted(pool(np.zeros(50)), 10, seed=3).positions
    assert len(set(flat.tolist())) == 10
    assert sorted(flat.tolist()) == sorted(tilted(pool(np.ones(50)), 10, seed=3).positions.tolist())


def test_another_example_changes_no_other_draw() -> None:
    """A draw is keyed by id: with the same mean, the order of the others stays."""
    scores = np.random.default_rng(0).random(60)
    large = tilted(pool(np.append(scores, scores.mean())), 61, seed=1).positions.tolist()
    assert [place for place in large if place != 60] == tilted(pool(scores), 60, seed=1).positions.tolist()


@pytest.mark.parametrize(("scores", "uniform", "words"), [(-SCORES, 0.2, "not be negative"), (SCORES, 0.0, "uniform")])
def test_bad_input_is_refused(scores: np.ndarray, uniform: float, words: str) -> None:
    with pytest.raises(WinnowError, match=words):
        tilted(pool(scores), 2, uniform=uniform)


def test_uncertainty_is_the_entropy_of_the_averaged_predictions() -> None:
    """Two networks, two examples: one that is always sure, one that each network finds even."""
    predictions = np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]])
    signals = wn.Signals(np.arange(2), {"predictions": predictions}, "classification", np.array([0, 1]), ("a", "b"))
    quarter = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert wn.score("uncertainty", signals).values.tolist() == pytest.approx([0.0, (math.log(2) + quarter) / 2])


def test_a_wrong_label_alone_does_not_make_an_example_uncertain() -> None:
    predictions = np.array([[[0.99, 0.01], [0.99, 0.01]]])
    signals = wn.Signals(np.arange(2), {"predictions": predictions}, "classification", np.array([0, 1]), ("a", "b"))
    first, second = wn.score("uncertainty", signals).values
    assert first == second
