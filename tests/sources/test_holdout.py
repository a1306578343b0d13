from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.core.errors import DataError, InputError
from winnow.sources.holdout import hold_out
from winnow.sources.open import open as wn_open


def source_of(counts: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(seed).normal(size=(labels.size, 2)), labels


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    fraction=st.floats(0.05, 0.95),
    seed=st.integers(0, 5),
)
def test_exact_size_every_class_on_both_sides_and_no_order(counts: list[int], fraction: float, seed: int) -> None:
    x, y = source_of(counts)
    source = wn_open((x, y))
    total, pairs = round(fraction * len(source)), sum(count >= 2 for count in counts)
    room = sum(count - 1 for count in counts)
    if not 0 < total < len(source) or not pairs <= total <= room:
        with pytest.raises(DataError, match="too few examples"):
            hold_out(source, fraction, seed)
        return
    rest, held = hold_out(source, fraction, seed)
    assert len(held) == total
    assert len(rest) == len(source) - total
    assert not set(rest.ids) & set(held.ids)
    there, here = (np.bincount(part.labels, minlength=len(counts)) for part in (rest, held))
    assert (there >= 1).all()
    assert (here[np.array(counts) >= 2] >= 1).all()
    order = np.random.default_rng(seed).permutation(len(source))
    again = hold_out(wn_open((x[order], y[order])), fraction, seed)[1]
    assert set(again.ids) == set(held.ids)


def test_shares_are_proportional() -> None:
    _, held = hold_out(wn_open(source_of([100, 50, 10])), 0.2, 0)
    assert np.bincount(held.labels).tolist() == [20, 10, 2]


def test_unlabelled_data_is_drawn_at_random_and_seeds_differ() -> None:
    source = wn_open(source_of([60, 40])[0])
    one, two = hold_out(source, 0.3, 0), hold_out(source, 0.3, 1)
    assert len(one[1]) == 30
    assert set(one[1].ids) != set(two[1].ids)
    assert one[1].name == "arrays:test"
    assert one[0].origin["hold_out"] == {"part": "train", "fraction": 0.3, "seed": 0}
    assert set(hold_out(source, 0.3, 0)[1].ids) == set(one[1].ids)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan"), "half"])
def test_fraction_outside_is_refused(fraction: object) -> None:
    with pytest.raises(InputError, match="fraction of hold_out must be"):
        hold_out(wn_open(source_of([5, 5])), fraction, 0)  # type: ignore[arg-type]
