"""Folds: spread evenly over classes, groups kept together, drawn by id."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.core.errors import InputError
from winnow.signals.folds import fold_numbers


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(2, 6), st.integers(1, 4))
def test_classes_are_spread_evenly(seed: int, folds: int, classes: int) -> None:
    labels = np.random.default_rng(seed).integers(0, classes, 60)
    found = fold_numbers(np.arange(60), folds, seed, labels)
    sizes = np.bincount(found, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for one in range(classes):
        share = np.bincount(found[labels == one], minlength=folds)
        assert share.max() - share.min() <= 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(2, 5))
def test_a_group_is_in_one_fold_and_folds_are_about_equal(seed: int, folds: int) -> None:
    draw = np.random.default_rng(seed)
    groups = draw.integers(0, 40, 100)
    found = fold_numbers(np.arange(100), folds, seed, draw.integers(0, 3, 100), groups)
    assert all(np.unique(found[groups == one]).size == 1 for one in np.unique(groups))
    sizes = np.bincount(found, minlength=folds)
    assert sizes.min() > 0
    assert sizes.max() - sizes.min() <= np.bincount(groups).max() + folds


def test_groups_may_be_words() -> None:
    words = ["anna", "ben", "anna", "cleo", "ben", "dora"]
    found = fold_numbers(np.arange(6), 2, 0, None, words)
    assert found[0] == found[2]
    assert found[1] == found[4]


def test_the_fold_depends_on_the_id_and_the_seed_alone() -> None:
    ids = np.array([f"x{k:03d}" for k in range(50)])
    labels, groups = np.arange(50) % 3, np.arange(50) // 2
    mixed = np.random.default_rng(0).permutation(50)
    found = fold_numbers(ids, 5, 1, labels, groups)
    assert np.array_equal(fold_numbers(ids[mixed], 5, 1, labels[mixed], groups[mixed]), found[mixed])
    assert not np.array_equal(fold_numbers(ids, 5, 2, labels, groups), found)


@pytest.mark.parametrize(
    ("folds", "groups", "words"),
    [
        (1, None, "folds"),
        (11, None, "at most the number of groups"),
        (4, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2], "at most the number of groups of examples, 3"),
        (2, [0, 1], "one entry per example"),
    ],
)
def test_what_cannot_be_split_is_refused(folds: int, groups: list[int] | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fold_numbers(np.arange(10), folds, 0, None, groups)
