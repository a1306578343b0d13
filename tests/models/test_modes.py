"""Eval mode: what it restores, and that its quick pooling is torch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import winnow as wn
from winnow.models.modes import eval_mode

SHAPES = [(3, 2, 8, 8), (3, 2, 7, 9), (2, 5, 5), (1, 1, 1, 6)]


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_quick_pooling_is_that_of_torch(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    for pool in (nn.MaxPool2d(2), nn.MaxPool2d((2, 2), stride=2), nn.MaxPool2d(3), nn.MaxPool2d(2, padding=1)):
        with torch.no_grad():
            wanted = pool(x)
            with eval_mode(pool):
                found = pool(x)
        assert torch.equal(found, wanted)
        assert "forward" not in vars(pool)


def test_too_small_an_image_is_refused_as_by_torch() -> None:
    pool = nn.MaxPool2d(2)
    with eval_mode(pool), torch.no_grad(), pytest.raises(RuntimeError, match="Output size is too small"):
        pool(torch.zeros(SHAPES[3]))


def test_gradients_go_where_torch_sends_them() -> None:
    """Among equal inputs torch picks one; comparing them would share the gradient out."""
    pool = nn.MaxPool2d(2)
    x = torch.zeros(1, 1, 2, 2, requires_grad=True)
    with eval_mode(pool):
        pool(x).sum().backward()
    assert sorted(x.grad.flatten().tolist()) == [0.0, 0.0, 0.0, 1.0]


def failing(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with eval_mode(net):
        found = net(x)
        raise ValueError(found)


def test_a_network_gives_the_same_outputs_and_is_restored_after_an_error() -> None:
    net = wn.models.build("lenet5", classes=10)
    x = torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    net.eval()
    with torch.no_grad():
        wanted = net(x)
        with pytest.raises(ValueError, match="tensor") as error:
            failing(net, x)
    assert torch.equal(error.value.args[0], wanted)
    assert all("forward" not in vars(layer) for layer in net.modules())
