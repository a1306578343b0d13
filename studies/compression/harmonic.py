"""The cylindrical harmonic, two-layer networks that learn it, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import jv
from torch import nn

from winnow.core import seeds

from .teacher import Rule

ACTIVATIONS = {"tanh": nn.Tanh, "ReLU": nn.ReLU}


@dataclass(frozen=True)
class Task:
    """Noisy points to learn from, and noiseless ones to measure at, as tensors (point, input) and (point, 1)."""

    inputs: torch.Tensor
    targets: torch.Tensor
    test_inputs: torch.Tensor
    test_targets: torch.Tensor


def harmonic(inputs: NDArray[np.float64], order: int, frequency: float) -> NDArray[np.float64]:
    """J_order(frequency r) cos(order theta)."""
    r, theta = np.hypot(inputs[:, 0], inputs[:, 1]), np.arctan2(inputs[:, 1], inputs[:, 0])
    return np.asarray(jv(order, frequency * r) * np.cos(order * theta))


def task(order: int, frequency: float, points: int, test: int, noise: float, seed: int) -> Task:
    """Points uniform in the square from -1 to 1, with targets blurred by normal noise."""
    draw = seeds.stream(seed, "harmonic")
    x, at = draw.uniform(-1, 1, (points, 2)), draw.uniform(-1, 1, (test, 2))
    y, truth = (harmonic(places, order, frequency)[:, None] for places in (x, at))
    y = y + noise * draw.standard_normal((points, 1))
    return Task(*(torch.tensor(a, dtype=torch.float32) for a in (x, y, at, truth)))


def wide(width: int, activation: str, seed: int, outputs: int = 1) -> nn.Sequential:
    """A two-layer network with weights drawn as PyTorch does."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(2, width), ACTIVATIONS[activation](), nn.Linear(width, outputs))


class Counted(nn.Module):
    """An activation whose neurons count as several."""

    def __init__(self, activation: nn.Module, counts: torch.Tensor) -> None:
        super().__init__()
        self.activation = activation
        self.register_buffer("counts", counts)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The activation, times the counts."""
        return self.activation(inputs) * self.counts


def sub_network(
    model: nn.Sequential, places: NDArray[np.int64], counts: NDArray[np.float64], *, rule: bool
) -> nn.Module:
    """Some neurons of a two-layer network, each with its count, trained with or without the gradient rule."""
    first, activation, last = model
    at, c = torch.as_tensor(places), torch.as_tensor(counts, dtype=first.weight.dtype)
    inner, outer = nn.Linear(first.in_features, len(at)), nn.Linear(len(at), last.out_features)
    with torch.no_grad():
        inner.weight.copy_(first.weight[at])
        inner.bias.copy_(first.bias[at])
        outer.weight.copy_(last.weight[:, at])
        outer.bias.copy_(last.bias)
    if rule:
        inner.weight.register_hook(lambda gradient: gradient / c[:, None])
        inner.bias.register_hook(lambda gradient: gradient / c)
        outer.weight.register_hook(lambda gradient: gradient / c)
    return nn.Sequential(inner, Counted(activation, c), outer)


@dataclass(frozen=True)
class Curve:
    """Test errors at the marks, and what the network says at the test points in the end."""

    errors: list[float]
    outputs: torch.Tensor


def learned(model: nn.Module, on: Task, rule: Rule, seed: int, marks: Sequence[int]) -> Curve:
    """Train a network; the batches depend on the seed alone."""
    optimiser: torch.optim.Optimizer
    if rule.optimiser in ("Adam", "AdamW"):
        optimiser = getattr(torch.optim, rule.optimiser)(model.parameters(), lr=rule.lr)
    else:
        momentum = 0.9 if rule.optimiser == "momentum" else 0.0
        optimiser = torch.optim.SGD(model.parameters(), lr=rule.lr, momentum=momentum)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rule.steps)
    draw = torch.Generator().manual_seed(seed)
    errors = []
    for step in range(rule.steps + 1):
        if step in marks:
            with torch.no_grad():
                outputs = model(on.test_inputs)
            errors.append(float((outputs - on.test_targets).square().mean()))
        if step == rule.steps:
            break
        batch = torch.randint(len(on.inputs), (rule.batch or len(on.inputs),), generator=draw)
        loss = nn.functional.mse_loss(model(on.inputs[batch]), on.targets[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        falling.step()
    return Curve(errors, outputs)
