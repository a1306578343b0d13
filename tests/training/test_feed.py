from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from winnow.core.seeds import stream
from winnow.models import build
from winnow.training import Feed, Recipe, Scaling, hold, train
from winnow.training.feed import augmented
from winnow.training.sharded_order import MIXED, PART, sharded
from winnow.training.spilled_rows import SpilledRows

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


@pytest.mark.parametrize("room", [True, False])
def test_what_does_not_fit_memory_is_on_disk_or_fetched_batch_by_batch(
    monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    """With room on the disk every example is decoded once, however often it is read."""
    mixed = pictures().at(np.random.default_rng(0).permutation(40))
    in_memory = Feed(mixed).inputs(ALL[::-1].copy())
    assert hold(mixed, budget=10) is mixed
    seen: list[int] = []

    def read(where: np.ndarray) -> np.ndarray:
        seen.extend(where.tolist())
        return mixed.read(where)

    if not room:
        monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=100))
    monkeypatch.setattr("winnow.training.spilled_rows.LET_GO", 1)
    feed = Feed(replace(mixed, read=read), budget=10)
    for _ in range(2):
        assert torch.equal(feed.inputs(ALL[::-1].copy()), in_memory)
    assert (sorted(seen[2:]) == ALL.tolist()) == room  # the first looks are for the size
    assert isinstance(feed.source.read, SpilledRows) == room
    assert feed.source.fingerprint == mixed.fingerprint


def test_training_from_disk_is_training_from_memory() -> None:
    source, recipe = clouds(40), Recipe(epochs=3, batch=8, order="sharded")
    weights = []
    for budget in (10, 1 << 20):
        net = build("mlp", classes=2, shape=(2,), seed=0)
        train(net, Feed(source, budget=budget), recipe, 0)
        weights.append(torch.cat([value.flatten() for value in net.parameters()]))
    assert torch.equal(*weights)


def test_a_sharded_epoch_visits_everything_a_few_parts_at_a_time() -> None:
    n = 10 * PART * MIXED + 77
    order = sharded(np.arange(n), n, stream(0, "shards", 0))
    assert np.array_equal(np.sort(order), np.arange(n))
    window = PART * (MIXED - 1)
    for start in range(0, n - window, window):
        assert len(np.unique(order[start : start + window] // PART)) <= 2 * MIXED
    mixing = np.corrcoef(np.argsort(order)[: PART * MIXED], np.arange(PART * MIXED))[0, 1]
    assert abs(mixing) < 0.9  # neighbours in the data are not neighbours in the epoch
    assert not np.array_equal(order, sharded(np.arange(n), n, stream(0, "shards", 1)))
    twice = sharded(np.array([5, 5, 3]), n, stream(0, "shards", 0))
    assert sorted(twice.tolist()) == [3, 5, 5]


def test_little_data_is_shuffled_completely() -> None:
    places = np.array([np.argsort(sharded(np.arange(6), 6, stream(seed, "shards", 0)))[0] for seed in range(600)])
    assert np.bincount(places, minlength=6).min() > 60


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
