"""The choice of neurons, on points that stand for them: when equal ones are merged, the order, the directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from winnow.core.errors import InputError
from winnow.methods.moments import compress, feasible_size, moment_error
from winnow.methods.moments.principal import principal
from winnow.methods.narrowing.neuron_choice import NeuronChoice, Neurons, choose


def cloud(neurons: int, coordinates: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(neurons, coordinates))


def chosen(points: np.ndarray, width: int, order: int | None = None, **how: Any) -> NeuronChoice:
    usual = {"dims": "auto", "smooth": True, "seed": 0, "name": "layer"}
    return choose(Neurons(points, points), width, order, **{**usual, **how})


@pytest.mark.parametrize("width", [4, 6])
def test_equal_neurons_are_merged_without_any_loss(width: int) -> None:
    points = cloud(4, 3)[[2, 0, 0, 3, 1, 2, 2]]
    made = chosen(points, width)
    assert made.kept.tolist() == [0, 1, 3, 4]  # the first of each, in their old order
    assert made.counts.tolist() == [3, 2, 1, 1]
    assert (made.order, made.coordinates, made.dims, made.spread_kept, made.moment_error) == (None, 3, 3, 1.0, 0.0)


def test_copies_count_in_the_moments_to_match() -> None:
    points = np.repeat(cloud(60, 2), np.arange(60) % 3 + 1, axis=0)
    made = chosen(points, 20, 2)
    assert len(made.kept) <= 20
    assert made.counts.sum() == pytest.approx(len(points))
    assert moment_error(points, made.kept, made.counts, 2) < 1e-12
    assert made.moment_error < 1e-12
    assert made.kept.tolist() == sorted(made.kept.tolist())


def test_several_gentle_rounds_err_less_than_one() -> None:
    """In the moments beyond those that are matched; a ratio over 10 clouds is known to about a tenth."""
    ratios = []
    for seed in range(10):
        points = cloud(300, 3, seed)
        made = chosen(points, 60, 2, dims=None)
        once = compress(principal(points)[0], 60, 2, seed=0)
        ratios.append(moment_error(points, made.kept, made.counts, 3) / moment_error(points, *once, 3))
    assert np.exp(np.log(ratios).mean()) < 0.8


@pytest.mark.parametrize(
    ("width", "order", "dims"),
    [(10, 2, 3), (14, 2, 3), (15, 2, 4), (10, None, 3), (4, 3, 1), (3, 2, 1), (5, 2, 1), (4, 1, 3), (60, 2, 5)],
)
def test_as_many_directions_as_the_width_can_match(width: int, order: int | None, dims: int) -> None:
    made = chosen(cloud(100, 5), width, order)
    assert (made.dims, made.coordinates) == (dims, 5)
    assert feasible_size(dims, made.order or 1) <= width
    assert dims == 5 or feasible_size(dims + 1, made.order or 1) > width
    assert made.spread_kept == pytest.approx(principal(cloud(100, 5), dims)[1])


def test_directions_may_be_given() -> None:
    assert chosen(cloud(100, 5), 20, 2, dims=2).dims == 2
    assert chosen(cloud(100, 5), 21, 2, dims=None).dims == 5


@pytest.mark.parametrize(
    ("given", "width", "smooth", "order"),
    [
        (1, 40, True, 1),  # what is given stays, if more would fit too
        (3, 40, True, 3),
        (None, 5, True, 1),  # only the means fit
        (None, 14, True, 1),
        (None, 15, True, 2),  # the second moments just fit
        (None, 40, False, 2),
        (None, 1500, True, 5),  # more is advised for smooth activations alone
        (None, 1500, False, 2),
    ],
)
def test_the_order(given: int | None, width: int, smooth: bool, order: int) -> None:
    assert chosen(cloud(2000, 4), width, given, smooth=smooth, dims=None).order == order


@pytest.mark.parametrize(
    ("neurons", "coordinates", "width", "order", "words"),
    [
        # (4 directions: 5 for order 1, 15 for order 2, 35 for order 3)
        (50, 4, 14, 2, "at least 15 for layer 'layer' to match the moments up to order 2 of its neurons in 4 "
         "directions (4 coordinates each); got 14; order 1 fits from 5; dims=3 matches them in the 3 widest directions "
         "alone."),
        (10, 4, 7, 2, "at least 10 (all that differ) for layer 'layer' to match the moments up to order 2 of its "
         "neurons in 4 directions (4 coordinates each); got 7; order 1 fits from 5; dims=2 matches them in the 2 "),
        (50, 4, 5, 3, "got 5; order 1 fits from 5; dims=1 matches them in the 1 widest directions alone."),
        (50, 4, 3, 3, "got 3; order 1 fits from 5."),  # not even one direction fits
        (50, 4, 4, None, "at least 5 for layer 'layer' to match the moments up to order 1 of its neurons in 4 "
         "directions (4 coordinates each); got 4; dims=3 matches them in the 3 widest directions alone."),
        (50, 1, 2, 2, "at least 3 for layer 'layer' to match the moments up to order 2 of its neurons in 1 direction "
         "(1 coordinates each); got 2; order 1 fits from 2."),
        (5, 4, 4, 2, "at least 5 (all that differ) for layer 'layer' to match the moments up to order 2 of its neurons "
         "in 4 directions (4 coordinates each); got 4; dims=1 matches"),
    ],
)  # fmt: skip
def test_too_narrow_says_what_would_do(
    neurons: int, coordinates: int, width: int, order: int | None, words: str
) -> None:
    with pytest.raises(InputError) as error:
        chosen(cloud(neurons, coordinates), width, order, dims=None)
    assert words in str(error.value)
