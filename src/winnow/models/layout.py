"""The order of images in memory while a network trains on a CPU.

Torch's convolutions, batch norm and pooling are up to twice as fast on a CPU if the channels of a pixel lie side by
side (`torch.channels_last`). The values are the same up to rounding. A user's own layers may rely on the usual order
(`x.view(len(x), -1)` raises an error in the other one), so only networks made of torch's, torchvision's and winnow's
layers are changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["channels_last"]

KNOWN = ("torch", "torchvision", "winnow")  # packages whose layers take images in any order


@contextmanager
def channels_last(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Keep the weights of convolutions channels last within a block, where that is known to be safe and faster.

    Activations follow the weights. Afterwards each weight is in the usual order again. A network that has weights in
    another order already, as within an outer block, is left as it is.

    Parameters
    ----------
    model
        Any torch module.
    device
        Where it runs.

    Returns
    -------
    context manager
        Restores the order at the end.

    Examples
    --------
    >>> layer = nn.Conv2d(3, 8, 3)
    >>> with channels_last(layer, torch.device("cpu")):
    ...     layer.weight.is_contiguous()
    False
    >>> layer.weight.is_contiguous()
    True
    """
    if device.type != "cpu" or not _suits(model):
        yield
        return
    model.to(memory_format=torch.channels_last)
    try:
        yield
    finally:
        model.to(memory_format=torch.contiguous_format)


def _suits(model: nn.Module) -> bool:
    """Whether a network has convolutions of images, all in the usual order, and only layers that take any order."""
    layers = list(model.modules())
    known = all(type(layer).__module__.partition(".")[0] in KNOWN for layer in layers)
    usual = all(weight.is_contiguous() for weight in model.parameters())
    return known and usual and any(type(layer) is nn.Conv2d for layer in layers)
