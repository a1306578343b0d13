"""`winnow.testing` over every registered score; a newcomer inherits it by being registered."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.scores import TWINS
from winnow import testing
from winnow.core import registry
from winnow.scores.score import list_scores, score
from winnow.testing.planted import planted
from winnow.testing.score_checks import share_of_wins

SCORES = {method.name: method for method in list_scores() if method.package == "winnow"}
EVERY = pytest.mark.parametrize("name", sorted(SCORES))

# Properties a score cannot have, each with the reason; nothing else is excepted.
NOT_PER_EXAMPLE = {
    "prototype": "centroids are those of the examples present",
    "class_prototype": "the class mean is that of the examples present",
    "forgetting": "never learned counts as the largest count present plus one",
    "random": "drawn for the sequence of examples present",
    "interchangeability": "partners are counted among the examples present",
    "contradiction": "support comes from the examples present",
    "influence_norm": "the head is trained on the examples present",
    "loss_influence": "the heads are trained on the examples present",
    "ensemble_influence": "it is an influence on the examples present",
    "mislabelled": "its mean is the share of wrong labels among the examples present",
}
NO_DIRECTION = {
    "random": "it knows nothing of the example",
    "ensemble_influence": "no planted example helps another; its own tests plant one that does",
}
# Scores of which the planted hardness shows only a part; their direction must still be far from chance.
WEAK_DIRECTION = {
    "influence_norm": "a head sees no hardness in what lies beyond its class's centre, away from the other classes: of "
    "the hard ones that lie towards another class nearly all outrank the easy ones, of the rest a little over half do",
    "loss_influence": "it is one component of the influence vector, along the slope of the held-out loss, and a long "
    "vector may have a short component",
}
NO_RELIABILITY = dict.fromkeys(
    ("class_prototype", "influence_norm", "loss_influence"), "embeddings have no seeds and nothing is drawn"
)
NOISE = {
    "random": "two seeds share nothing",
    "ensemble_influence": "without an example that helps another, its largest value is chance",
}
EXCEPTED = {
    "other_examples_play_no_part": NOT_PER_EXAMPLE,
    "higher_is_harder": {**NO_DIRECTION, **WEAK_DIRECTION},
    "halves_of_the_seeds_agree": {**NO_RELIABILITY, **NOISE},
}
EXCEPTIONS = {f"score-{name}-{check}" for check, names in EXCEPTED.items() for name in names}
CHECKS = dict(testing.conformance(*SCORES, kinds=("score",), excepting=EXCEPTIONS))


@pytest.mark.parametrize("check", CHECKS)
def test_conformance(check):
    CHECKS[check]()


def test_exceptions_are_about_registered_checks():
    assert {label for label, _ in testing.conformance(kinds=("score",))} >= EXCEPTIONS
    assert len(CHECKS) == 16 * len(SCORES) - len(EXCEPTIONS)


@EVERY
def test_equals_its_slow_twin(name):
    signals = planted(n=36, seeds=2, epochs=12, models=30, seed=5).signals.canonical()
    assert np.allclose(score(name, signals).values, TWINS[name](signals), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", sorted(WEAK_DIRECTION))
def test_a_weak_direction_is_far_from_chance(name):
    wins, error = share_of_wins(name)
    assert 0.5 + 5 * error < wins <= 0.9  # a score beyond that is weak no more


def test_noise_has_no_direction_and_no_reliability():
    assert 0.35 < share_of_wins("random")[0] < 0.65
    found = score("random", planted().signals).reliability
    assert found is not None
    assert abs(found) < 0.3


@pytest.mark.parametrize("name", sorted(NO_RELIABILITY))
def test_without_seeds_there_is_no_reliability(name):
    assert score(name, planted().signals).reliability is None


@EVERY
def test_has_a_file_of_its_own(name):
    assert SCORES[name].function.__module__ == f"winnow.scores.{name}"
    assert registry.get("score", name) is SCORES[name]
