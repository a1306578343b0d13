"""The kernels below `compress`, without the correction that comes after them."""

from __future__ import annotations

import numpy as np
import pytest

from winnow.methods.moments.null_vectors import factorise, lighten, solve_left


def of_rank(count, width, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, rank)) @ rng.normal(size=(rank, width))


@pytest.mark.parametrize(("count", "width", "rank"), [(20, 10, 10), (20, 10, 4), (6, 10, 6), (12, 12, 1)])
def test_the_rank_is_found_and_systems_are_solved(count, width, rank):
    rows = of_rank(count, width, rank)
    factors = rows.copy()
    found, order, columns = factorise(factors)
    assert found == rank
    right = np.random.default_rng(1).normal(size=count) @ rows
    u = solve_left(factors, found, order, columns, right)
    np.testing.assert_allclose(u @ rows, right, atol=1e-10)
    assert (u != 0).sum() == rank


@pytest.mark.parametrize("target", [1, 12])
@pytest.mark.parametrize("rank", [5, 10])
def test_rows_go_and_their_sum_stays(rank, target):
    rows = of_rank(24, 10, rank)
    rows[:, 0] = np.abs(rows[:, 0])
    before = rows.sum(axis=0)
    share, alive = lighten(rows.copy(), target)
    assert (share >= 0).all()
    assert (share > 0).sum() == alive <= max(target, np.linalg.matrix_rank(rows))
    np.testing.assert_allclose(share @ rows, before, atol=1e-10)


@pytest.mark.parametrize("target", [1, 5, 9])
def test_rows_that_go_together_do_not_come_back(target):
    """Points of a small square grid, weights equal: by symmetry several lose their last weight at one step."""
    x, y = (side.ravel() for side in np.meshgrid(np.arange(-2.0, 3), np.arange(-2.0, 3)))
    rows = np.c_[np.ones(25), x, y, x * x, x * y, y * y]
    share, alive = lighten(rows.copy(), target)
    assert (share > 0).sum() == alive
    np.testing.assert_allclose(share @ rows, rows.sum(axis=0), atol=1e-12)
