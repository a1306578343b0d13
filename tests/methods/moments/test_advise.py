"""The adviser's orders, its errors against measured ones, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest

from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.moments import advise, compress, feasible_size


@pytest.mark.parametrize("m", [3, 4, 6])
def test_the_best_order_grows_slowly_with_size(m):
    orders = [advise(10 * size, m, size).order for size in (100, 1000, 10_000)]
    assert orders == sorted(orders)
    assert orders[0] < orders[-1] <= 10


def test_no_more_order_than_rounding_allows():
    few, many = advise(10**4, 2, 10**3), advise(10**6, 2, 10**5)
    assert many.order < few.order
    assert few.error > many.error == 1e-15
    assert any("rounding" in reason for reason in many.reasons)


def test_a_kink_wants_order_2():
    for name in ("relu", "leaky_relu"):
        told = advise(10**5, 3, 10**4, name)
        assert told.order == 2
        assert any("gain nothing" in reason for reason in told.reasons)
    assert advise(100, 3, 8, "relu").order == 1  # order 2 needs 10


@pytest.mark.parametrize(("activation", "order"), [("sigmoid", 1), ("sigmoid", 3), ("relu", 1), ("relu", 2)])
def test_expected_errors_are_near_measured_ones(activation, order):
    """Within a factor of 3.5: the rule scatters by 1.8, the mean of 12 trials by 1.3."""
    n, m, size = 4000, 2, 400
    errors = []
    for trial in range(12):
        rng = np.random.default_rng([trial, 5])
        x, directions = rng.uniform(-1, 1, (n, m)), rng.normal(size=(10, m))
        z = x @ directions.T
        f = (np.maximum(z, 0) if activation == "relu" else 1 / (1 + np.exp(-z))).mean(axis=1)
        idx, w = compress(x, size, order)
        errors.append(abs(w @ f[idx] / n - f.mean()) / f.std())
    told = advise(n, m, size, activation)
    assert told.errors[order] / 3.5 < np.mean(errors) < 3.5 * told.errors[order]
    assert np.mean(errors) < 0.5 * told.random


def test_what_is_told():
    told = advise(1000, 6, 100)
    assert told.moments == feasible_size(6, told.order) <= 100
    assert told.cells == 100 // told.moments
    assert told.error == told.errors[told.order] < told.random
    assert any("many dimensions" in reason for reason in told.reasons)
    assert advise(1000, 1, 1000).error == 1e-15
    with_targets = advise(1000, 2, 100, targets=1)
    assert with_targets.moments == feasible_size(2, with_targets.order, 1)


def test_many_dimensions_are_told_in_few_digits():
    for n, m, size in ((10_000, 784, 1000), (100_000, 20_000, 30_000)):
        told = advise(n, m, size)
        assert told.order == 1
        assert f"fewer than 2^{m} cells" in told.reasons[-1]
    assert "fewer than 2^3 cells" in advise(1000, 3, 79, "relu").reasons[-1]  # 7 cells of 10
    assert "fewer than" not in advise(1000, 3, 80, "relu").reasons[-1]
    with pytest.raises(InputError, match="at least 20001"):
        advise(100_000, 20_000, 300)


def test_refusals():
    with pytest.raises(InputError, match=r"size of advise must be at least 31 .* 30 dimension.*; got 20"):
        advise(1000, 30, 20)
    with pytest.raises(UnknownNameError, match="activation of advise 'rleu'"):
        advise(1000, 3, 20, "rleu")
    with pytest.raises(InputError, match="m of feasible_size"):
        feasible_size(0, 2)
