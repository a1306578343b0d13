import numpy as np
import pytest
from studies.compression import optimal_order
from studies.parts import Asked
from studies.shelf import Shelf


def test_quick_run_has_all_claims_and_goes_on(tmp_path, monkeypatch):
    asked = Asked(Shelf(tmp_path / "x", "compression x"), tmp_path / "x", (), 1, quick=True)
    part = optimal_order.run(asked)
    text = "\n".join(part.verdict)
    for m in optimal_order.DIMENSIONS:
        for claim in ("Theorem 7", "Eq. 13", "Eq. 19"):
            assert f"{claim}, m = {m}:" in text
    monkeypatch.setattr(optimal_order, "gap", None)  # nothing may be compressed again
    assert optimal_order.run(asked) == part


@pytest.mark.parametrize("m", optimal_order.DIMENSIONS)
def test_the_right_form_is_found(m):
    rng, sizes = np.random.default_rng(m), [6, 10, 15, 21, 28, 36, 45]

    def noisy(values):
        return [value * np.exp(rng.normal(0, 0.1, 20)) for value in values]

    stretched = noisy([np.exp(-0.5 * size ** (1 / m)) for size in sizes])
    power = noisy([size**-3.0 for size in sizes])
    assert optimal_order.better(sizes, stretched, m)[2] == 1.0
    assert optimal_order.better(sizes, power, m)[2] == 0.0


def test_sizes_that_grow_like_a_power_of_the_logarithm_are_told_from_a_power_law():
    points = (100, 1000, 10_000, 100_000)
    by_log = {str(d): round((2 * np.log(d)) ** 2) for d in points}
    by_power = {str(d): round(d**0.5) for d in points}
    first, second, _ = optimal_order.grown(by_log, 2)
    assert first < second
    first, second, slope = optimal_order.grown(by_power, 2)
    assert first > second
    assert slope == pytest.approx(0.5, abs=0.01)


def test_the_best_order_is_that_of_the_smallest_geometric_mean():
    found = {"6": {"1": [1e-3, 1e-3], "2": [1e-2, 1e-6]}, "10": {"1": [1e-16, 1e-16]}}
    ((size, (order, values)),) = optimal_order.best(found).items()
    assert (size, order, values.tolist()) == (6, 2, [1e-2, 1e-6])
