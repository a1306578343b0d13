"""Networks whose narrowing is known: every hidden neuron stands there several times, in mixed order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["duplicated", "duplicated_convnet", "trained"]

Optimiser = Callable[..., torch.optim.Optimizer]


def duplicated(
    sizes: Sequence[int], copies: Sequence[Sequence[int]], activation: Callable[[], nn.Module], seed: int = 0
) -> tuple[nn.Sequential, list[list[int]]]:
    """A chain of linear layers in which hidden neuron j of layer l stands `copies[l][j]` times.

    Returns it with, for each hidden layer, the original of each of its neurons. A weight between two neurons is that
    between their originals, one by one.
    """
    rng = torch.Generator().manual_seed(seed)
    originals = [list(range(sizes[0]))]
    for counts in copies:
        row = [j for j, count in enumerate(counts) for _ in range(count)]
        originals.append([row[i] for i in torch.randperm(len(row), generator=rng).tolist()])
    originals.append(list(range(sizes[-1])))
    layers: list[nn.Module] = []
    for n, (before, after) in enumerate(pairwise(originals)):
        weight = torch.randn(sizes[n + 1], sizes[n], generator=rng, dtype=torch.float64) / len(before) ** 0.5
        bias = torch.randn(sizes[n + 1], generator=rng, dtype=torch.float64)
        layer = nn.Linear(len(before), len(after), dtype=torch.float64)
        with torch.no_grad():
            for i, a in enumerate(after):
                layer.bias[i] = bias[a]
                for j, b in enumerate(before):
                    layer.weight[i, j] = weight[a, b]
        layers += [layer, activation()]
    return nn.Sequential(*layers[:-1]), originals[1:-1]


def duplicated_convnet(copies: Sequence[int], seed: int = 0) -> tuple[nn.Sequential, nn.Sequential, list[int]]:
    """A convolution, a batch norm and a head, small and with channel j standing `copies[j]` times, one by one.

    Returns the wide network, the small one, whose outgoing weights are those of one copy, and the original of each
    channel of the wide one.
    """
    rng = torch.Generator().manual_seed(seed)
    row = [j for j, count in enumerate(copies) for _ in range(count)]
    row = [row[i] for i in torch.randperm(len(row), generator=rng).tolist()]

    def network(channels: int) -> nn.Sequential:
        layers = (nn.Conv2d(2, channels, 3), nn.BatchNorm2d(channels), nn.Tanh(), nn.AdaptiveAvgPool2d(2))
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * channels, 2)).double()

    small, wide = network(len(copies)), network(len(row))
    with torch.no_grad():
        for value in small.parameters():
            value.copy_(torch.randn(value.shape, generator=rng, dtype=torch.float64) / 3)
        small[1].running_mean.copy_(torch.randn(len(copies), generator=rng))
        small[1].running_var.copy_(torch.rand(len(copies), generator=rng) + 0.5)
        wide[5].bias.copy_(small[5].bias)
        for i, j in enumerate(row):
            wide[0].weight[i], wide[0].bias[i] = small[0].weight[j], small[0].bias[j]
            for name in ("weight", "bias", "running_mean", "running_var"):
                getattr(wide[1], name)[i] = getattr(small[1], name)[j]
            wide[5].weight[:, 4 * i : 4 * i + 4] = small[5].weight[:, 4 * j : 4 * j + 4]
    return wide, small, row


def trained(net: nn.Module, x: Tensor, y: Tensor, optimiser: Optimiser, steps: int = 30, parts: int = 1) -> list[float]:
    """Train in place on all data at once, in `parts` backward calls a step; the loss before each step."""
    steering = optimiser(net.parameters())
    losses = []
    for _ in range(steps):
        steering.zero_grad()
        total = 0.0
        for some, wanted in zip(x.chunk(parts), y.chunk(parts), strict=True):
            loss = (net(some) - wanted).square().sum() / len(x)
            loss.backward()
            total += loss.item()
        steering.step()
        losses.append(total)
    return losses
