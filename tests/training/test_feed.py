from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from winnow.core.seeds import stream
from winnow.training import Feed, Scaling, hold
from winnow.training.feed import augmented

from .small import clouds, pictures, source_of

ALL = np.arange(40)


def test_examples_are_in_canonical_order_whatever_the_order_of_the_source() -> None:
    source = clouds(40)
    mixed = source.at(np.random.default_rng(0).permutation(40))
    ours, theirs = Feed(source), Feed(mixed)
    assert ours.ids.tolist() == theirs.ids.tolist() == sorted(source.ids.tolist())
    assert torch.equal(ours.inputs(ALL), theirs.inputs(ALL))
    assert ours.targets is not None
    assert theirs.targets is not None
    assert torch.equal(ours.targets, theirs.targets)


def test_images_are_scaled_per_channel() -> None:
    x = Feed(pictures()).inputs(ALL)
    assert x.shape == (40, 3, 8, 10)
    assert x.mean((0, 2, 3)).abs().max() < 1e-5
    assert (x.std((0, 2, 3)) - 1).abs().max() < 1e-2


def test_a_constant_column_does_no_harm() -> None:
    x = np.stack([np.full(40, 7.0), np.arange(40.0)], 1).astype(np.float32)
    got = Feed(source_of(x, ALL % 2)).inputs(ALL)
    assert torch.isfinite(got).all()
    assert got[:, 0].abs().max() == 0


def test_test_data_is_scaled_as_the_training_data_was() -> None:
    train = clouds(40)
    moved = replace(train, read=lambda where: train.read(where) + 5)
    scaling = Scaling.of(train)
    gap = Feed(moved, scaling).inputs(ALL) - Feed(train, scaling).inputs(ALL)
    assert torch.allclose(gap, (5 / scaling.std).expand(40, 2), atol=1e-5)


def test_regression_targets_are_standardised() -> None:
    feed = Feed(source_of(np.eye(40, dtype=np.float32), 100 + 3.0 * ALL, task="regression"))
    assert feed.targets is not None
    assert feed.targets.shape == (40, 1)
    assert abs(float(feed.targets.mean())) < 1e-5
    assert float(feed.targets.std(correction=0)) == pytest.approx(1, abs=1e-5)


def test_what_does_not_fit_memory_is_fetched_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    source = pictures()
    in_memory = Feed(source).inputs(ALL[::-1].copy())
    assert hold(source, budget=10) is source
    monkeypatch.setattr("winnow.training.feed.hold", lambda given: given)
    lazily = Feed(source)
    assert torch.equal(lazily.inputs(ALL[::-1].copy()), in_memory)


def test_holding_reads_each_example_once() -> None:
    source = clouds(40)
    seen: list[int] = []

    def read(where: np.ndarray) -> np.ndarray:
        seen.extend(where.tolist())
        return source.read(where)

    held = hold(replace(source, read=read))
    held.read(ALL)
    assert hold(held) is held
    assert sorted(seen[1:]) == ALL.tolist()  # the very first look is for the size
    assert held.fingerprint == source.fingerprint


def test_a_feed_leaves_the_source_as_it_was() -> None:
    values = np.arange(80, dtype=np.float32).reshape(40, 2)
    before = values.copy()
    Feed(source_of(values, ALL % 2)).inputs(ALL).add_(100)
    assert np.array_equal(values, before)


@pytest.mark.parametrize("words", [("flip",), ("crop",), ("flip", "crop")])
def test_augmentation_keeps_the_shape_and_follows_the_seed(words: tuple[str, ...]) -> None:
    x = Feed(pictures()).inputs(ALL)
    first = augmented(x, words, stream(0, "augment", 0))
    assert first.shape == x.shape
    assert torch.equal(first, augmented(x, words, stream(0, "augment", 0)))
    assert not torch.equal(first, augmented(x, words, stream(1, "augment", 0)))


def test_a_flip_is_the_picture_or_its_mirror_image() -> None:
    x = torch.arange(2 * 12 * 64, dtype=torch.float32).reshape(64, 2, 3, 4)
    got = augmented(x, ("flip",), stream(0, "flip"))
    same = (got == x).flatten(1).all(1)
    mirrored = (got == x.flip(3)).flatten(1).all(1)
    assert bool((same ^ mirrored).all())
    assert 16 < int(same.sum()) < 48


def test_a_crop_is_a_shift_by_at_most_an_eighth_with_zeros_around() -> None:
    x = 1 + torch.arange(32 * 64, dtype=torch.float32).reshape(32, 1, 8, 8)
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1))
    shifts = [padded[:, :, i : i + 8, j : j + 8] for i in range(3) for j in range(3)]
    got = augmented(x, ("crop",), stream(0, "crop"))
    fits = torch.stack([(got == shift).flatten(1).all(1) for shift in shifts])
    assert bool((fits.sum(0) == 1).all())
    assert int(fits.any(1).sum()) > 4
