"""What a model is: two that would give different results must not pass for one."""

from __future__ import annotations

import torch
from torch import nn

from winnow.models.identity import describe


class Net(nn.Module):
    def __init__(self, act=torch.relu) -> None:
        super().__init__()
        self.first, self.head, self.act = nn.Linear(3, 4), nn.Linear(4, 2), act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.first(x)))


class Shy(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.first(x))) * 0.5


class Net2(Net):
    pass


def test_weights_do_not_tell_modules_apart() -> None:
    assert describe(Net()) == describe(Net())
    assert describe("lenet5") == "lenet5"


def test_code_attributes_and_frozen_layers_do() -> None:
    frozen = Net()
    frozen.first.requires_grad_(False)
    different = [describe(net)["layers"] for net in (Net(), Net(torch.sin), Shy(), frozen)]
    assert len(set(different)) == 4


def test_a_factory_is_known_by_what_it_makes_and_leaves_the_global_stream_alone() -> None:
    def zeros() -> nn.Module:
        net = Net()
        for value in net.parameters():
            nn.init.zeros_(value)
        return net

    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    assert describe(Net) == describe(Net)
    assert describe(Net)["weights"] != describe(zeros)["weights"]
    assert torch.rand(1) == expected
