"""The interface of the eight self-supervised methods, and the moving averages that some of them use.

A `SelfSupervisedMethod` holds what a method needs apart from the backbone: heads, prototypes, a queue, a centre, and
for momentum methods a `Shadow` of the backbone. It makes the views of a batch, computes its loss on them, and is
notified after each step. `lightly_methods.py` has the eight methods, built from lightly's heads and losses; it is
imported when the first one is built.

To add a method: write a subclass of `SelfSupervisedMethod` in `lightly_methods.py` and add its name to `METHODS`.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from ...core import checks, seeds
from ...core.errors import MissingDependencyError
from .views import strong_views

__all__ = ["METHODS", "MOMENTUM", "SelfSupervisedMethod", "Shadow", "method_of"]

METHODS = ("barlow_twins", "byol", "dino", "moco", "simclr", "simsiam", "swav", "vicreg")
MOMENTUM = 0.99  # initial momentum; it rises to 1 over the planned steps


class Shadow(nn.Module):
    """A network that follows another as a moving average of its weights.

    The momentum rises from `MOMENTUM` to 1 along a cosine over the planned steps. All momentum methods share this
    schedule, so that one stage 1 can be continued by any of them.

    Parameters
    ----------
    network
        The network to copy and follow.
    steps
        Planned steps of the whole training.
    """

    def __init__(self, network: nn.Module, steps: int) -> None:
        super().__init__()
        self.network = copy.deepcopy(network).requires_grad_(False)
        self.steps = steps

    def forward(self, x: torch.Tensor) -> Any:
        """Return the output of the averaged network."""
        return self.network(x)

    @torch.no_grad()
    def follow(self, network: nn.Module, step: int) -> None:
        """Move towards the network's weights after `step` steps."""
        share = (1 - MOMENTUM) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.steps)))
        torch._foreach_lerp_(list(self.network.parameters()), list(network.parameters()), share)


class SelfSupervisedMethod(nn.Module, ABC):
    """A self-supervised method: everything but the backbone.

    Subclasses define `outputs` (forward passes, which may run in lower precision) and `compare` (the loss, in float32),
    and keep the heads that are averaged in `followed`, with the `Shadow` of each.
    """

    local_views = 0
    local_size: tuple[int, int] | None = None
    precision = "float32"

    def __init__(self) -> None:
        super().__init__()
        self.shadow: Shadow | None = None
        self.followed: list[tuple[nn.Module, Shadow]] = []

    @abstractmethod
    def outputs(self, backbone: nn.Module, views: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], ...]:
        """Forward passes: lists of outputs, one per view."""

    @abstractmethod
    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """The loss, from the result of `outputs`."""

    def views(self, images: torch.Tensor, rng: np.random.Generator) -> list[torch.Tensor]:
        """Views of a batch of images between 0 and 1: two large ones, then small ones if the method uses them."""
        return strong_views(images, rng, self.local_views, self.local_size)

    def loss(self, backbone: nn.Module, views: Sequence[torch.Tensor]) -> torch.Tensor:
        """Compute the method's loss on the views of a batch."""
        with torch.autocast(views[0].device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            given = self.outputs(backbone, views)
        return self.compare(*([output.float() for output in outputs] for outputs in given))

    def after_step(self, backbone: nn.Module, step: int, heads: bool = True) -> None:
        """Update the averaged networks.

        Parameters
        ----------
        backbone
            The backbone after `step` steps.
        step
            The number of steps done.
        heads
            Whether the method's own heads were trained in this step; in stage 1 they are not.
        """
        if self.shadow is not None:
            self.shadow.follow(backbone, step)
        if heads:
            for head, shadow in self.followed:
                shadow.follow(head, step)


def method_of(
    name: str,
    backbone: nn.Module,
    in_dim: int,
    seed: int,
    planned_steps: int,
    *,
    examples: int = 1 << 16,
    batch: int = 128,
    local_views: int | None = None,
) -> SelfSupervisedMethod:
    """Build a method for a backbone; its heads depend only on the seed and the name.

    Parameters
    ----------
    name
        One of `METHODS`.
    backbone
        The network to train, which momentum methods copy.
    in_dim
        The number of features that the backbone gives.
    seed
        Seed of the initial weights of heads, prototypes and queue.
    planned_steps
        Length of the training, over which the momentum rises.
    examples, batch
        Number of examples and batch size, which limit a queue.
    local_views
        Number of small crops in addition to the two views; if not given, the method's own number.
    """
    checks.choice("method", "accelerate", name, METHODS)
    try:
        from . import lightly_methods as families
    except ImportError as error:
        raise MissingDependencyError.of("lightly", "vision", f"method {name!r} of accelerate") from error
    with _seeded(seeds.number(seed, "method", name)):
        method = families.FAMILIES[name](backbone, in_dim, planned_steps, examples, batch)
    if local_views is not None and method.local_views:  # a method without small crops would compute them for nothing
        method.local_views = checks.integer("local_views", "accelerate", local_views, low=0)
    return method


@contextmanager
def _seeded(number: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(number)
        yield
