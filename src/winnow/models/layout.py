"""The order of images in memory while a network trains on a CPU.

Torch's convolutions, batch norm and pooling are up to twice as fast on a CPU if the channels of a pixel lie side by
side (`torch.channels_last`). The values are the same up to rounding. A user's own layers may rely on the usual order
(`x.view(len(x), -1)` raises an error in the other one), so only networks made of torch's, torchvision's and winnow's
layers are changed, without hooks, without a `forward` of their own and not traced: those hold a user's code too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import torch
from torch import nn
from torch.nn.parameter import is_lazy

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
    if not any(type(layer) is nn.Conv2d for layer in layers) or not all(_takes_any_order(layer) for layer in layers):
        return False
    held = list(chain(model.parameters(), model.buffers()))
    # torch would convert tensors of five dimensions too, and cannot; weights that are not made yet have no order
    return not any(is_lazy(one) or one.dim() == 5 for one in held) and all(map(_in_usual_order, held))


def _takes_any_order(layer: nn.Module) -> bool:
    """Whether a layer runs only code that is known not to rely on the order."""
    module = type(layer).__module__
    traced = module.startswith("torch.fx.")  # the code is that of the network it was made from
    hooks = layer._forward_pre_hooks or layer._forward_hooks or layer._backward_pre_hooks or layer._backward_hooks
    return module.partition(".")[0] in KNOWN and not traced and not hooks and "forward" not in vars(layer)


def _in_usual_order(held: torch.Tensor) -> bool:
    """Whether the strides are the usual ones; `is_contiguous` is true for both orders if there is one channel or pixel.

    Then an inner block would take the outer one's order for the usual one, and undo it at its end.
    """
    return held.dim() != 4 or held.stride() == torch.empty(held.shape, device="meta").stride()
