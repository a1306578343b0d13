from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from winnow.artefacts import Source
from winnow.core.errors import DivergedError, InputError, NotDefinedError
from winnow.training import Feed, Recipe, predict, train
from winnow.training.soft_loss import example_losses

from .small import bits, clouds, network, pictures, source_of

QUICK = Recipe(epochs=5, batch=16, lr=0.02)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As an engine gives it: threads split sums, and are slow on networks as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def accuracy(model: torch.nn.Module, feed: Feed, recipe: Recipe = QUICK) -> float:
    assert feed.targets is not None
    return float((predict(model, feed, recipe).argmax(1) == feed.targets.numpy()).mean())


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("schedule", ["constant", "cosine", "onecycle"])
def test_learns(optimizer: str, schedule: str) -> None:
    feed = Feed(clouds())
    recipe = Recipe(epochs=10, batch=16, optimizer=optimizer, schedule=schedule, lr=0.03)
    model = train(network(), feed, recipe, 0).model
    assert accuracy(model, feed) > 0.95
    assert not model.training


def test_same_seed_same_bits_and_another_seed_others() -> None:
    runs = [bits(train(network(), Feed(clouds()), QUICK, seed).model) for seed in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_shuffling_the_source_changes_no_bit() -> None:
    source = clouds()
    mixed = source.at(np.random.default_rng(3).permutation(len(source)))
    assert bits(train(network(), Feed(source), QUICK, 0).model) == bits(train(network(), Feed(mixed), QUICK, 0).model)


def test_augmentation_is_seeded_and_matters() -> None:
    def trained(augment: tuple[str, ...]) -> bytes:
        return bits(train(network(240), Feed(pictures()), replace(QUICK, augment=augment), 0).model)

    assert trained(("flip", "crop")) == trained(("flip", "crop"))
    assert trained(("flip", "crop")) != trained(())


def test_a_weight_of_two_is_an_example_seen_twice() -> None:
    """One batch holds everything, so the weighted and the repeated loss are the same mean."""
    source = clouds(24)
    twice = np.concatenate([np.arange(24), np.arange(0, 24, 3)])
    repeated = source_of(source.read(twice), source.labels[twice])  # type: ignore[index]
    weights = np.where(np.arange(24) % 3 == 0, 2.0, 1.0)
    recipe = Recipe(epochs=30, batch=64, optimizer="sgd", lr=0.05)
    feed = Feed(source)
    ours = train(network(), feed, recipe, 0, weights=weights).model
    theirs = train(network(), Feed(repeated, feed.scaling), recipe, 0).model
    plain = train(network(), feed, recipe, 0).model
    assert np.allclose(predict(ours, feed, recipe), predict(theirs, feed, recipe), atol=1e-4)
    assert not np.allclose(predict(ours, feed, recipe), predict(plain, feed, recipe), atol=1e-4)


def test_only_ratios_of_weights_matter() -> None:
    feed = Feed(clouds(32))
    weights = np.linspace(1, 2, 32)
    ours, theirs = (train(network(), feed, QUICK, 0, weights=w).model for w in (weights, 8 * weights))
    assert bits(ours) == bits(theirs)


@pytest.mark.parametrize("steps", [1, 7, 23])
def test_steps_are_honoured_even_within_an_epoch(steps: int) -> None:
    epochs: list[int] = []
    done = train(network(), Feed(clouds(64)), QUICK, 0, steps=steps, after_epoch=lambda n, _: epochs.append(n))
    assert done.steps == steps
    assert epochs == list(range(1, -(-steps // 4) + 1))
    assert done.seconds > 0


def test_parts_are_drawn_anew_for_each_epoch_by_id() -> None:
    def visited(source: Source) -> list[list[str]]:
        feed, epochs = Feed(source), [[]]
        train(
            network(),
            feed,
            QUICK,
            0,
            part=24,
            steps=QUICK.steps(24),
            after_batch=lambda where, _: epochs[-1].extend(feed.ids[where].tolist()),
            after_epoch=lambda *_: epochs.append([]),
        )
        return epochs[:-1]

    source = clouds(60)
    epochs = visited(source)
    assert [len(set(part)) for part in epochs] == [24] * QUICK.epochs
    assert len({frozenset(part) for part in epochs}) == QUICK.epochs
    assert visited(source.at(np.random.default_rng(0).permutation(60))) == epochs


def test_without_steps_the_recipe_decides() -> None:
    assert train(network(), Feed(clouds(64)), QUICK, 0).steps == QUICK.steps(64) == 20


def test_a_look_after_an_epoch_changes_nothing() -> None:
    feed = Feed(clouds())

    def look(_: int, model: torch.nn.Module) -> None:
        predict(model, feed, QUICK)
        model.eval()

    net = torch.nn.Sequential(network(), torch.nn.BatchNorm1d(2))
    twin = torch.nn.Sequential(network(), torch.nn.BatchNorm1d(2))
    assert bits(train(net, feed, QUICK, 0, after_epoch=look).model) == bits(train(twin, feed, QUICK, 0).model)


def test_a_last_batch_of_one_does_not_break_batch_normalisation() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    assert train(model, Feed(clouds(33)), QUICK, 0).steps == 10


def test_regression_learns_on_the_standardised_scale() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 2)).astype(np.float32)
    feed = Feed(source_of(x, 1000 + 50 * (x[:, 0] - x[:, 1]), task="regression"))
    model = train(network(2, 1), feed, Recipe(epochs=30, batch=16, lr=0.03), 0).model
    assert feed.targets is not None
    assert np.square(predict(model, feed, QUICK) - feed.targets.numpy()).mean() < 0.05


def test_bfloat16_learns_too_and_predicts_in_float32() -> None:
    recipe = replace(QUICK, epochs=10, precision="bfloat16")
    feed = Feed(clouds())
    model = train(network(), feed, recipe, 0).model
    assert accuracy(model, feed, recipe) > 0.95
    assert predict(model, feed, recipe).dtype == np.float32


def test_divergence_is_one_sentence_with_the_way_out() -> None:
    recipe = Recipe(epochs=50, batch=16, optimizer="sgd", lr=1e12, schedule="constant")
    with pytest.raises(DivergedError, match=r"diverged in epoch \d+ .*lower lr of Recipe, now 1e\+12"):
        train(network(), Feed(clouds()), recipe, 0)


def test_predictions_do_not_depend_on_the_batch_and_keep_the_mode() -> None:
    feed = Feed(clouds(50))
    model = network().train()
    assert np.allclose(predict(model, feed, QUICK, batch=7), predict(model, feed, QUICK, batch=50), atol=1e-6)
    assert model.training


def test_losses_are_per_example() -> None:
    output = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    got = example_losses(output, torch.tensor([0, 1]))
    assert got.tolist() == pytest.approx([np.log1p(np.exp(-2)), np.log(2)])
    assert example_losses(output, torch.zeros(2, 2)).tolist() == [2.0, 0.0]


def test_refuses_what_has_no_meaning() -> None:
    bare = clouds(20).with_labels(None, "unlabelled")
    with pytest.raises(NotDefinedError, match="has neither"):
        train(network(), Feed(bare), QUICK, 0)
    with pytest.raises(InputError, match="augment of Recipe is for images"):
        train(network(), Feed(clouds(20)), replace(QUICK, augment=("flip",)), 0)
    with pytest.raises(InputError, match="device of Recipe"):
        train(network(), Feed(clouds(20)), replace(QUICK, device="toaster"), 0)
    with pytest.raises(InputError, match="part of train"):
        train(network(), Feed(clouds(20)), QUICK, 0, part=21)
    with pytest.raises(InputError, match="part of train is drawn without weights"):
        train(network(), Feed(clouds(20)), QUICK, 0, part=5, weights=np.arange(1.0, 21.0), weighting="draw")
