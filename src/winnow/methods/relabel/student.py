"""The network to pretrain: a named network without its head, or the user's own, initialised from the seed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from ...core.errors import InputError
from ...models import build, eval_mode, feature_layer

__all__ = ["student", "takes"]

TROUBLE = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)


def student(
    backbone: str | nn.Module | Callable[[], nn.Module], shape: tuple[int, ...], seed: int
) -> tuple[nn.Module, int]:
    """Return the network, and the number of features it gives.

    Parameters
    ----------
    backbone
        A named network, whose head is removed; a torch module, which is copied and reinitialised; or a function that
        makes one. The last two must give one row of features per example.
    shape
        Channels, height and width of an image.
    seed
        The only seed of the initial weights.
    """
    if isinstance(backbone, str):
        network = build(backbone, classes=2, shape=shape, seed=seed)
        network.set_submodule(feature_layer(network), nn.Identity())
    else:
        network = build(backbone, classes=1, seed=seed)
    # Channels-last memory format: convolutions on a CPU take about a third less time.
    network = network.to(memory_format=torch.channels_last)
    try:
        with eval_mode(network), torch.no_grad():
            given = network(torch.zeros(2, *shape))
    except TROUBLE as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"backbone of accelerate cannot take images of shape {shape}: {why}.") from None
    if not isinstance(given, torch.Tensor) or given.ndim != 2 or len(given) != 2:
        found = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
        raise InputError(f"backbone of accelerate must give one row of features per image; got {found} for two.")
    return network, int(given.shape[1])


def takes(network: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether a network also accepts images of another size."""
    try:
        with eval_mode(network), torch.no_grad():
            network(torch.zeros(2, *shape))
    except TROUBLE:
        return False
    return True
