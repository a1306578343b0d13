"""Channels last in training: the same function, only where it is safe, and nothing of it remains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import winnow as wn
from winnow.models.layout import channels_last
from winnow.training import loop
from winnow.training.feed import Feed
from winnow.training.recipe import Recipe

CPU = torch.device("cpu")


class Viewing(nn.Module):
    """A user's network that relies on the usual order."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 64, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.conv(x).view(x.shape[0], -1))


@pytest.mark.parametrize("name", ["lenet5", "convnet:width=4", "resnet20"])
def test_outputs_and_gradients_are_the_same_up_to_rounding(name: str) -> None:
    model = wn.models.build(name, classes=3, shape=(3, 16, 16)).double()
    x = torch.randn(5, 3, 16, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def found() -> list[torch.Tensor]:
        model.zero_grad()
        output = model(x)
        output.square().sum().backward()
        return [output.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]

    wanted = found()
    with channels_last(model, CPU):
        assert any(not p.is_contiguous() for p in model.parameters())
        last = found()
    for one, other in zip(wanted, last, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)
    assert all(p.is_contiguous() for p in model.parameters())


def test_a_users_own_layers_are_left_alone() -> None:
    model = Viewing()
    with channels_last(model, CPU):
        assert model.conv.weight.is_contiguous()
        assert model(torch.zeros(2, 3, 8, 8)).shape == (2, 2)
    with channels_last(nn.Sequential(nn.Flatten(), model), CPU):  # inside torch's own container too
        assert model.conv.weight.is_contiguous()


def test_the_order_comes_back_after_an_error() -> None:
    layer = nn.Conv2d(3, 8, 3)
    with pytest.raises(ValueError, match="stop"), channels_last(layer, CPU):
        raise ValueError("stop")
    assert layer.weight.is_contiguous()


def _traced() -> nn.Module:
    return torch.fx.symbolic_trace(Viewing())


def _with_own_forward() -> nn.Module:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 64, 2))
    model.forward = lambda x: model[1](model[0](x).view(2, -1))
    return model


def _with_hook() -> nn.Module:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 64, 2))
    model[0].register_forward_hook(lambda _layer, _given, output: output.view(2, -1))
    return model


def _with_five_dimensions() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 3)), nn.Conv3d(1, 2, 1), nn.Flatten(1, 2), nn.Conv2d(6, 2, 8), nn.Flatten()
    )


def _not_made_yet() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.LazyLinear(2))


@pytest.mark.parametrize("make", [_traced, _with_own_forward, _with_hook, _with_five_dimensions, _not_made_yet])
def test_networks_that_may_need_the_usual_order_are_left_alone(make: Callable[[], nn.Module]) -> None:
    model = make()
    with channels_last(model, CPU):
        assert model(torch.zeros(2, 3, 8, 8)).shape == (2, 2)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(3, 8, 3),
        nn.Conv2d(1, 8, 3),
        nn.Conv2d(8, 4, 1),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.DataParallel(nn.Conv2d(1, 8, 3)),
    ],
    ids=str,
)
def test_an_inner_block_leaves_the_order_to_the_outer_one(layer: nn.Module) -> None:
    weight = next(layer.parameters())
    usual = weight.stride()
    with channels_last(layer, CPU):
        last = weight.stride()
        assert last != usual
        with channels_last(layer, CPU):
            pass
        assert weight.stride() == last
    assert weight.stride() == usual


def test_an_evaluation_after_an_epoch_does_not_end_it() -> None:
    """One channel, where both orders count as contiguous."""
    rng = np.random.default_rng(0)
    feed = Feed(wn.open((rng.random((48, 1, 12, 12), dtype=np.float32), rng.integers(0, 2, 48))))
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(800, 2))
    strides = []

    def evaluated(_epoch: int, _model: nn.Module) -> None:
        loop.predict(model, feed, Recipe())
        strides.append(model[0].weight.stride())

    loop.train(model, feed, Recipe(epochs=2, batch=16), 0, after_epoch=evaluated)
    assert strides == [(9, 1, 3, 1)] * 2
    assert all(value.stride() == torch.empty(value.shape).stride() for value in model.state_dict().values())


def test_only_a_cpu_is_concerned() -> None:
    layer = nn.Conv2d(3, 8, 3)
    with channels_last(layer, torch.device("meta")):
        assert layer.weight.is_contiguous()


def test_training_uses_it_and_predicts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    feed = Feed(wn.open((rng.integers(0, 255, (40, 16, 16, 3), dtype=np.uint8), rng.integers(0, 2, 40))))
    orders: list[bool] = []

    def trained() -> np.ndarray:
        model = wn.models.build("convnet:width=4", classes=2, shape=(3, 16, 16))
        orders.clear()
        loop.train(
            model,
            feed,
            Recipe(epochs=2, batch=16),
            0,
            after_epoch=lambda _, m: orders.append(next(m.parameters()).is_contiguous()),
        )
        return loop.predict(model, feed, Recipe())

    last = trained()
    assert orders == [False, False]
    monkeypatch.setattr("winnow.models.layout.KNOWN", ())
    usual = trained()
    assert orders == [True, True]
    np.testing.assert_allclose(last, usual, rtol=1e-3, atol=1e-4)
