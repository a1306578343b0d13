"""The eight self-supervised methods behind one interface, and the moving averages that some of them follow.

A `SelfSupervisedMethod` holds what a method needs beside the backbone: heads, prototypes, a queue, a centre, and for
momentum methods a `Shadow` of the backbone. It is asked for views of a batch, for its loss on them, and told when a
step is over. `lightly_methods.py` holds the eight, made of lightly's heads and losses; it is imported when the first
one is built.

To add one more: a subclass of `SelfSupervisedMethod` in `lightly_methods.py` and its name in `METHODS`.
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
MOMENTUM = 0.99  # where the momentum starts; it rises to 1 over the planned steps


class Shadow(nn.Module):
    """A network that follows another as a moving average of its weights.

    The momentum rises from `MOMENTUM` to 1 along a cosine over the planned steps. All momentum methods share this one
    schedule, so that one stage 1 can be the beginning of any of them.

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
        """What the averaged network gives."""
        return self.network(x)

    @torch.no_grad()
    def follow(self, network: nn.Module, step: int) -> None:
        """Move towards a network as it is after `step` steps."""
        share = (1 - MOMENTUM) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.steps)))
        torch._foreach_lerp_(list(self.network.parameters()), list(network.parameters()), share)


class SelfSupervisedMethod(nn.Module, ABC):
    """A self-supervised method: everything but the backbone.

    Subclasses give `outputs` (forward passes, which may run in a lower precision) and `compare` (the loss, in float32),
    and keep heads that are followed in `followed`, beside the `Shadow` that follows each.
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
        """Forward passes: lists of outputs, one a view."""

    @abstractmethod
    def compare(self, *outputs: list[torch.Tensor]) -> torch.Tensor:
        """The loss, from what `outputs` gave."""

    def views(self, images: torch.Tensor, rng: np.random.Generator) -> list[torch.Tensor]:
        """Views of a batch of images between 0 and 1: two large ones, then small ones where the method uses them."""
        return strong_views(images, rng, self.local_views, self.local_size)

    def loss(self, backbone: nn.Module, views: Sequence[torch.Tensor]) -> torch.Tensor:
        """The method's loss on the views of a batch."""
        with torch.autocast(views[0].device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            given = self.outputs(backbone, views)
        return self.compare(*([output.float() for output in outputs] for outputs in given))

    def after_step(self, backbone: nn.Module, step: int, heads: bool = True) -> None:
        """Let the averaged networks follow.

        Parameters
        ----------
        backbone
            The backbone after `step` steps.
        step
            How many steps are done.
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
    """Build a method for a backbone; its heads depend on the seed and the name alone.

    Parameters
    ----------
    name
        One of `METHODS`.
    backbone
        The network to train, which momentum methods copy.
    in_dim
        Features that the backbone gives.
    seed
        Decides the initial weights of heads, prototypes and queue.
    planned_steps
        Length of the training, over which the momentum rises.
    examples, batch
        Size of the data and of a batch, which limit a queue.
    local_views
        Small crops beside the two views; the method's own number unless given.
    """
    checks.choice("method", "accelerate", name, METHODS)
    try:
        from . import lightly_methods as families
    except ImportError as error:
        raise MissingDependencyError.of("lightly", "vision", f"method {name!r} of accelerate") from error
    with _seeded(seeds.number(seed, "method", name)):
        method = families.FAMILIES[name](backbone, in_dim, planned_steps, examples, batch)
    if local_views is not None and method.local_views:  # a method without small crops would only pay for them
        method.local_views = checks.integer("local_views", "accelerate", local_views, low=0)
    return method


@contextmanager
def _seeded(number: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(number)
        yield
