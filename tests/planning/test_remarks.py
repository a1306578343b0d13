"""Remarks of a plan: what seeds and a proxy would buy, and what the theory says."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from winnow.artefacts.plan import PilotArm
from winnow.core.rank_correlation import rank_correlation
from winnow.core.units import GAP
from winnow.planning.pilot_arms import of_one_seed
from winnow.planning.remarks import of_several_seeds, on_proxy, on_seeds, on_theory


def test_spearman_brown_is_what_averaging_noisy_scores_does() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    scores = [truth + rng.normal(size=truth.size) for _ in range(6)]
    single = rank_correlation(scores[0], scores[1])
    three = rank_correlation(np.mean(scores[:3], axis=0), np.mean(scores[3:], axis=0))
    assert of_several_seeds(single, 3) == pytest.approx(three, abs=0.02)
    assert of_several_seeds(0.4, 1) == pytest.approx(0.4)
    assert of_one_seed(of_several_seeds(0.4, 3), 3) == pytest.approx(0.4)


def test_what_more_seeds_buy() -> None:
    (said,) = on_seeds(0.5, 1, 60.0)
    assert "about 0.50 from 1, 0.67 from 2, 0.75 from 3, 0.83 from 5" in said
    assert "each costs about" in said.replace(GAP, " ")
    (more,) = on_seeds(0.5, 3, math.nan)
    assert "0.75 from 3, 0.83 from 5 (" in more
    assert "costs" not in more
    assert on_seeds(None, 1, 1.0) == []
    assert "do not agree on the score (-0.10)" in on_seeds(-0.1, 1, 1.0)[0]


def test_a_proxy_is_mentioned_only_if_it_is_cheaper() -> None:
    (said,) = on_proxy("mlp", 10.0, 100.0)
    assert "--observer mlp" in said
    assert on_proxy("mlp", 100.0, 100.0) == []
    assert on_proxy("mlp", math.nan, 100.0) == []


def test_the_theory_is_beside_what_was_measured() -> None:
    found = SimpleNamespace(hard_error=lambda size, keep: 0.1 if size == 4000 else 0.2)
    arms = [PilotArm("el2n", "el2n", 0.5, 500, (0.4, 0.5), -0.3, 0.01)]
    (said,) = on_theory(found, 4000, 0.9, 1000, arms, "el2n")  # type: ignore[arg-type]
    assert "the hardest 50% at 90.0 %; it decides nothing" in said
    assert said.endswith("it says 80.0 % for the hardest; el2n measured 45.0 %.")
    (alone,) = on_theory(found, 4000, 0.3, 1000, arms, "auto")  # type: ignore[arg-type]
    assert "the hardest 30%" in alone
    assert "measured" not in alone
