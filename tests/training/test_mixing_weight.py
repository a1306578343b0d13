"""The share of soft targets in the loss."""

from __future__ import annotations

import doctest

import pytest

from winnow.core.errors import InputError
from winnow.training import mixing_weight as module
from winnow.training.mixing_weight import mixing_weight


@pytest.mark.parametrize("keep", [0.01, 0.1, 0.5, 1.0])
def test_a_good_teacher_gets_what_is_not_kept(keep: float) -> None:
    for right, classes in ((1.0, 2), (0.75, 2), (0.55, 10), (0.5, 0)):
        assert mixing_weight(keep, right, classes) == pytest.approx(1 - keep)


def test_it_falls_to_nothing_at_chance() -> None:
    assert mixing_weight(0.2, 0.5, 2) == mixing_weight(0.2, 0.3, 2) == mixing_weight(0.2, -1.0, 0) == 0
    weights = [mixing_weight(0.2, right / 20, 4) for right in range(5, 21)]
    assert weights == sorted(weights)
    assert mixing_weight(0.2, 0.4375, 4) == pytest.approx(0.4)  # a quarter of the way from chance


def test_its_examples_run() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ((0.0, 0.5, 2), "keep of mixing_weight"),
        ((0.5, 1.5, 2), "teacher_accuracy of mixing_weight"),
        ((0.5, 0.5, -1), "classes of mixing_weight"),
    ],
)
def test_what_is_out_of_range_is_refused(arguments: tuple[float, float, int], fragment: str) -> None:
    with pytest.raises(InputError, match=fragment):
        mixing_weight(*arguments)
