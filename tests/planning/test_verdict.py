"""How far a forecast is trusted: what is resampled, and the rules, on pilots whose errors are planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from winnow.artefacts.pilot_training import Look
from winnow.planning.pilot import Pilot
from winnow.planning.verdict import forecaster

HELD = 2000
CURVE = {("random", 0.125): [0.4, 0.5], ("random", 0.25): [0.3, 0.4], ("random", 1.0): [0.1]}
HALVES = {("random", 0.5): [0.2, 0.3]}


def look(error: float, size: int, seed: int) -> Look:
    """A training that is wrong about a share of the held-out examples; probes agree well which are hard."""
    rng = np.random.default_rng(seed)
    margins = np.linspace(-1, 1, HELD) + 0.3 * rng.normal(size=HELD)
    right = np.ones(HELD, dtype=np.uint8)
    right[np.argsort(margins)[: round(error * HELD)]] = 0
    return Look(size, 10, 1.0, right, margins.astype(np.float32), np.zeros(0, np.float32))


def pilot(errors: Mapping[tuple[str, float], Sequence[float]], pool: int = 1600) -> Pilot:
    looks = {
        (policy, keep): [look(error, round(keep * pool), 10 * place + turn) for turn, error in enumerate(each)]
        for place, ((policy, keep), each) in enumerate(errors.items())
    }
    return Pilot(pool, HELD, looks, 1.0)


@pytest.mark.parametrize("errors", [[0.2, 0.4], [0.2, 0.3, 0.4], [0.1, 0.2, 0.2, 0.3]])
def test_few_trainings_are_as_uncertain_as_a_mean_of_so_many(errors: list[float]) -> None:
    """Drawing k of k anew understates the variance of a mean of k by (k - 1) / k; for two that is half of it."""
    made = pilot({**CURVE, **HALVES, ("random", 0.25): errors})
    found = np.mean([forecaster(made, 0.9, seed)[1].errors["random", 0.25][1:].var() for seed in range(3)])
    held_out = np.mean(errors) * (1 - np.mean(errors)) / HELD
    assert np.sqrt(found) == pytest.approx(np.sqrt(np.var(errors, ddof=1) / len(errors) + held_out), rel=0.1)
