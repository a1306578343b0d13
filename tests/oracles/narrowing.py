"""Networks whose narrowing is known: every hidden neuron stands there several times, in mixed order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["duplicated", "trained"]

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
