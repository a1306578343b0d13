"""Weighted training against its meaning: an example of weight c is c examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from winnow.artefacts import Source
from winnow.core.errors import WinnowError
from winnow.training import Feed, Recipe, Scaling, train

from .small import bits, clouds, network, source_of

COUNTS = np.random.default_rng(1).integers(1, 6, 24)
QUICK = Recipe(epochs=4, batch=8, lr=0.02)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Precise(torch.nn.Module):
    """A network that computes in float64, whatever it is given."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.inner = network(2, outputs).double()

    def forward(self, x: torch.Tensor) -> Any:
        return self.inner(x.double())


def regression(n: int = 24) -> Source:
    source = clouds(n)
    x = source.read(np.arange(n))
    return source_of(x, 5 + 3 * x[:, 0] ** 2 - x[:, 1], task="regression")


def repeated(source: Source) -> Source:
    where = np.repeat(np.arange(len(source)), COUNTS)
    assert source.labels is not None
    return source_of(source.read(where), source.labels[where], task=source.task)


def parameters(model: torch.nn.Module) -> NDArray[np.float64]:
    return torch.cat([p.detach().flatten() for p in model.parameters()]).numpy()


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_full_batches_with_weights_are_full_batches_of_the_repeats(task: str, optimizer: str) -> None:
    source = clouds(24) if task == "classification" else regression()
    recipe = Recipe(epochs=40, batch=1000, optimizer=optimizer, lr=0.05, label_smoothing=0.1, weight_decay=0.01)
    scaling = Scaling.of(source, COUNTS.astype(float))
    outputs = 2 if task == "classification" else 1
    ours, theirs, plain = (
        parameters(train(Precise(outputs), Feed(data, scaling), recipe, 0, weights=weights).model)
        for data, weights in ((source, COUNTS.astype(float)), (repeated(source), None), (source, None))
    )
    assert np.abs(ours - theirs).max() < 1e-10
    assert np.abs(ours - plain).max() > 1e-3


@pytest.mark.parametrize("source", [clouds(24), regression()], ids=["classes", "targets"])
def test_scaling_by_weight_is_that_of_the_repeats(source: Source) -> None:
    ours, theirs = Scaling.of(source, 3.0 * COUNTS), Scaling.of(repeated(source))
    for name in ("mean", "std", "target_mean", "target_std"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-6)
    mixed = np.random.default_rng(0).permutation(24)
    again = Scaling.of(source.at(mixed), 3.0 * COUNTS)  # weights are in canonical order, whatever that of the source
    assert torch.equal(again.mean, ours.mean)
    assert torch.equal(again.target_mean, ours.target_mean)
    assert not torch.equal(ours.std, Scaling.of(source).std)


def test_equal_weights_change_no_bit_either_way() -> None:
    feed = Feed(clouds(24))
    plain = bits(train(network(), feed, QUICK, 0).model)
    for weighting in ("loss", "draw"):
        for weights in (None, np.full(24, 4.0)):
            assert bits(train(network(), feed, QUICK, 0, weights=weights, weighting=weighting).model) == plain


def test_draws_are_by_weight_seeded_and_take_the_same_steps() -> None:
    feed = Feed(clouds(24))
    weights = np.where(np.arange(24) < 4, 10.0, 1.0)

    def seen(seed: int, weighting: str) -> tuple[NDArray[np.int64], bytes, int]:
        met: list[int] = []
        done = train(
            network(),
            feed,
            replace(QUICK, epochs=30),
            seed,
            weights=weights,
            weighting=weighting,
            after_batch=lambda where, _: met.extend(where.tolist()),
        )
        return np.bincount(met, minlength=24), bits(done.model), done.steps

    count, first, steps = seen(0, "draw")
    expected = 30 * 24 * weights / weights.sum()
    assert count.sum() == 30 * 24
    assert (np.abs(count - expected) < 4 * np.sqrt(30 * 0.25)).all()  # a count of an epoch is one of two numbers
    again, by_loss = seen(0, "draw"), seen(0, "loss")
    assert (again[1], again[2]) == (first, steps)
    assert seen(1, "draw")[1] != first
    assert by_loss[1] != first
    assert by_loss[2] == steps
    assert set(by_loss[0]) == {30}


def test_both_ways_lead_to_the_same_place() -> None:
    """A slope through the origin: weighted least squares has a closed form, and both find it."""
    x = np.array([[-1.0, 0], [1, 0], [2, 0], [-2, 0]], dtype=np.float32)
    y, w = np.array([-1.0, 3.0, 0.0, 2.0]), np.array([1.0, 1.0, 3.0, 3.0])
    source = source_of(x, y, task="regression")
    unit = Scaling(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1), torch.ones(1))
    wanted = (w * x[:, 0] * y).sum() / (w * x[:, 0] ** 2).sum()
    recipe = Recipe(epochs=500, batch=4, optimizer="sgd", lr=0.03, momentum=0.0, weight_decay=0.0)
    found = {}
    for weighting in ("loss", "draw"):
        model = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        train(model, Feed(source, unit), recipe, 0, weights=w, weighting=weighting)
        found[weighting] = float(model.weight.detach()[0, 0])
    assert found["loss"] == pytest.approx(wanted, abs=1e-5)
    assert found["draw"] == pytest.approx(wanted, abs=0.05)
    assert abs(wanted - (x[:, 0] * y).sum() / (x[:, 0] ** 2).sum()) > 0.1


def test_an_unknown_weighting_is_refused() -> None:
    with pytest.raises(WinnowError, match="unknown weighting of train 'los'"):
        train(network(), Feed(clouds(24)), QUICK, 0, weighting="los")
