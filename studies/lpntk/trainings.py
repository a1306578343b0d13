"""Many small trainings by plain gradient descent, with the loss of every example after every epoch.

`trained` is the plain loop. `together` trains thousands of networks on sets no larger than a batch at once, as stacked
weights; it gives what the plain loop would give for each of them.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from winnow.core import seeds

Losses = NDArray[np.float64]
CHUNK = 64  # networks trained at once: quickest of 32 to 512 for LeNet-5 on one core


@dataclass(frozen=True)
class Plan:
    """Learning rate, batch size and number of epochs, the same for every set."""

    rate: float
    batch: int
    epochs: int

    def named(self) -> dict[str, float]:
        """As the settings of a result."""
        return asdict(self)


def trained(
    network: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    plan: Plan,
    seed: int,
    watched: int | None = None,
) -> tuple[nn.Module, Losses]:
    """A trained copy of a network, and the losses at the end of each epoch: epochs x examples.

    Parameters
    ----------
    network
        Where training starts; it stays as it is.
    x, y
        Inputs and classes.
    plan
        How to train.
    seed
        Of the order of the batches.
    watched
        Losses are wanted of this many examples, the first ones; of all unless given.
    """
    net = copy.deepcopy(network)
    weights = list(net.parameters())
    kept = []
    for epoch in range(plan.epochs):
        order = torch.from_numpy(seeds.stream(seed, "order", epoch).permutation(len(x)))
        for batch in order.split(plan.batch):
            gradients = torch.autograd.grad(functional.cross_entropy(net(x[batch]), y[batch]), weights)
            with torch.no_grad():
                for weight, gradient in zip(weights, gradients, strict=True):
                    weight.sub_(gradient, alpha=plan.rate)
        with torch.no_grad():
            kept.append(functional.cross_entropy(net(x[:watched]), y[:watched], reduction="none"))
    return net, torch.stack(kept).double().numpy()


def together(network: nn.Module, x: torch.Tensor, y: torch.Tensor, plan: Plan) -> Losses:
    """Losses at the end of each epoch of one training a set, all from the same weights: epochs x sets x examples.

    The sets are no larger than a batch, so every epoch is one step on the whole set, and the forward pass of a step
    is the look at the end of the epoch before.

    Parameters
    ----------
    network
        Where every training starts; it stays as it is.
    x, y
        Inputs and classes, sets x examples.
    plan
        How to train.
    """
    if x.shape[1] > plan.batch:
        raise ValueError(f"together takes sets of at most a batch, {plan.batch}; these have {x.shape[1]}.")

    def losses(weights: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(functional_call(network, weights, (x,)), y, reduction="none")

    def summed(weights: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        each = losses(weights, x, y)
        return each.mean(), each

    step = vmap(grad(summed, has_aux=True))
    found = []
    for xs, ys in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
        weights = {name: p.detach().expand(len(xs), *p.shape).clone() for name, p in network.named_parameters()}
        kept = []
        for _ in range(plan.epochs):
            gradients, before = step(weights, xs, ys)
            kept.append(before)
            for name, gradient in gradients.items():
                weights[name].sub_(gradient, alpha=plan.rate)
        with torch.no_grad():
            kept.append(vmap(losses)(weights, xs, ys))
        found.append(torch.stack(kept[1:]))
    return torch.cat(found, dim=1).double().numpy()
