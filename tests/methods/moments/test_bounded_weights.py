"""Weights between bounds: against a general solver, and corners against one decomposition per step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import moments as slow
from winnow.methods.moments.bounded_weights import fewest_points, nearest_weights


def problem(seed, conditions=6, n=40):
    rng = np.random.default_rng(seed)
    rows = np.vstack([rng.normal(size=(conditions, n)) * rng.uniform(0.1, 10, size=(conditions, 1)), np.ones(n)])
    return rows - np.vstack([rows[:-1].mean(axis=1, keepdims=True) * np.ones(n), np.zeros(n)])


@pytest.mark.parametrize("most", [1.3, 3.0, np.inf])
@pytest.mark.parametrize("seed", range(5))
def test_nearest_weights_are_those_of_a_general_solver(seed, most):
    rows = problem(seed)
    rng = np.random.default_rng(seed + 100)
    target = rows @ np.clip(rng.exponential(size=40), 0, min(most, 1e9))  # some weights allow it
    start = np.full(40, 1.0)
    found, error = nearest_weights(rows, target, start, most)
    wanted = slow.nearest_weights(rows, target, start, None if np.isinf(most) else most)
    assert wanted is not None
    assert error < 1e-12
    assert np.abs(rows @ found - target).max() < 1e-10
    assert found.min() >= 0
    assert found.max() <= most
    assert np.allclose(found, wanted, atol=1e-5)


def test_a_target_that_no_weights_reach_is_told():
    rows = np.vstack([np.abs(problem(0)[:3]), np.ones(40)])
    _, error = nearest_weights(rows, np.array([-1.0, 0.0, 0.0, 40.0]), np.ones(40))
    assert error > 1e-3


def test_soft_conditions_are_traded_against_even_weights():
    rows = problem(1, conditions=60)[:, :30]  # more conditions than weights: nothing is exact
    target = np.zeros(len(rows))
    target[-1] = 30
    length = {}
    for softness in (1e-4, 1.0, 1e4):
        soft = np.full(len(rows), softness)
        soft[-1] = 0.0
        found, error = nearest_weights(rows, target, np.ones(30), softness=soft)
        assert error < 1e-10
        length[softness] = (np.linalg.norm(rows[:-1] @ found), np.std(found))
    ways = [length[key] for key in sorted(length)]
    assert ways[0][0] < ways[1][0] < ways[2][0]
    assert ways[0][1] > ways[1][1] > ways[2][1]


@pytest.mark.parametrize("most", [2.0, 4.0, np.inf])
def test_few_points_keep_the_conditions_within_the_bounds(most):
    rows = problem(3, conditions=12, n=240)
    bound = most * 240 / 40
    for weights, kept in (
        [slow.bounded_corner(rows, np.ones(240), bound)] * 2,
        fewest_points(rows, np.ones(240), bound, 40, len(rows))[::-1],
    ):
        chosen = np.flatnonzero(weights) if len(weights) == 240 else kept
        share = weights[weights > 0]
        assert np.abs(rows[:, chosen] @ share - rows.sum(axis=1)).max() < 1e-9 * 240
        assert share.min() > 0
        assert share.max() <= bound * (1 + 1e-12)
        assert len(chosen) <= 40  # 13 between the bounds, and at most 40 / most at the upper one


def test_dependent_conditions_need_no_points():
    rows = problem(4, conditions=5, n=300)
    twice = np.vstack([rows, rows[:4] * 2.0, np.zeros((2, 300))])
    kept, weights = fewest_points(twice, np.ones(300), np.inf, 1, len(twice))
    assert len(kept) <= 6
    assert np.abs(twice[:, kept] @ weights - twice.sum(axis=1)).max() < 1e-9
