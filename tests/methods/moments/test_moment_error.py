"""`moment_error` against rational arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import moments as twin
from winnow.core.errors import InputError
from winnow.methods.moments import compress, moment_error


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("t", [0, 1])
def test_large_errors_are_exact(offset, t):
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(40, 2)) + offset, rng.uniform(1, 2, 40)
    y = rng.normal(size=(40, t)) if t else None
    idx, w = np.arange(0, 40, 3), rng.uniform(1, 5, 14)
    exact = twin.exact_error(x, idx, w, 3, weights, y)
    assert moment_error(x, idx, w, 3, weights, targets=y) == pytest.approx(exact, rel=1e-9)


def test_small_errors_are_not_missed():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)) + 50
    idx, w = compress(x, 10, 3)
    assert moment_error(x, idx, w, 3) <= 1e-14
    w[0] *= 1 + 1e-10
    exact = twin.exact_error(x, idx, w, 3)
    assert exact > 1e-13
    assert moment_error(x, idx, w, 3) == pytest.approx(exact, rel=1e-3)


def test_the_error_has_no_units():
    rng = np.random.default_rng(0)
    x, idx, w = rng.normal(size=(50, 3)), np.arange(10), np.full(10, 5.0)
    one = moment_error(x, idx, w, 4)
    assert moment_error(x * [1e-80, 1.0, 1e80] + [0, 1, 0], idx, w, 4) == pytest.approx(one, rel=1e-9)
    assert moment_error(x, idx, w * 1e-9, 4, np.full(50, 1e-9)) == pytest.approx(one, rel=1e-9)


def test_cells_are_judged_alone():
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    both = [0, 1, 2, 3], [1.0, 1.0, 1.0, 1.0]
    assert moment_error(x, *both, 1, cells=[0, 0, 1, 1]) == 0.0
    moved = [0, 1, 2, 3], [1.5, 0.5, 0.5, 1.5]  # the mean of all stays
    assert moment_error(x, *moved, 1) == pytest.approx(0.0, abs=1e-15)
    assert moment_error(x, *moved, 1, cells=[0, 0, 1, 1]) == pytest.approx(0.5)
    assert moment_error(x, [0], [4.0], 1, [1.0, 1.0, 0.0, 0.0], cells=[0, 0, 1, 1]) > 0.5
    assert moment_error(x, [2], [1.0], 1, [1.0, 1.0, 0.0, 0.0], cells=[0, 0, 1, 1]) == np.inf


def test_refusals():
    x = np.ones((4, 1))
    with pytest.raises(InputError, match="idx of moment_error must be rows of points"):
        moment_error(x, [4], [1.0], 1)
    with pytest.raises(InputError, match=r"integers from 0 to 3; got dtype float64\.$"):
        moment_error(x, np.zeros(4), np.ones(4), 1)
    with pytest.raises(InputError, match=r"got -1 to 0\.$"):
        moment_error(x, [0, -1], [1.0, 1.0], 1)
    with pytest.raises(InputError, match=r"at most 1000000 moments; order 4 in 100 dimension\(s\) makes 4598126"):
        moment_error(np.ones((4, 100)), [0], [4.0], 4)
    with pytest.raises(InputError, match="w of moment_error must have 1 rows"):
        moment_error(x, [0], [1.0, 2.0], 1)
    with pytest.raises(InputError, match="order of moment_error"):
        moment_error(x, [0], [1.0], 0)
