"""Modes of a network: eval for a block, and train for all layers but the frozen ones.

Without gradients, torch's max pooling on a CPU still computes which input was the largest, which takes most of the time
of a small convolutional network. In eval mode the usual pooling, 2 x 2, therefore compares its four inputs directly;
the outputs are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["eval_mode", "train_mode"]


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Put a model in eval mode within a block; afterwards each layer is in its previous mode (some may be frozen).

    Parameters
    ----------
    model
        Any torch module.

    Returns
    -------
    context manager
        Restores the modes at the end.

    Examples
    --------
    >>> layer = nn.Dropout()
    >>> with eval_mode(layer):
    ...     layer.training
    False
    >>> layer.training
    True
    """
    modes = [(module, module.training) for module in model.modules()]
    pools = [module for module in model.modules() if _halves(module)]
    model.eval()
    for pool in pools:
        pool.forward = _largest_of_four
    try:
        yield
    finally:
        for pool in pools:
            del pool.forward
        for module, training in modes:
            module.training = training


def _halves(module: nn.Module) -> bool:
    """Whether a layer is max pooling of 2 x 2, as it comes from torch."""
    if type(module) is not nn.MaxPool2d or "forward" in vars(module):
        return False
    pairs = [value if isinstance(value, tuple) else (value, value) for value in (module.kernel_size, module.stride)]
    plain = module.padding in (0, (0, 0)) and module.dilation in (1, (1, 1))
    return pairs == [(2, 2), (2, 2)] and plain and not module.ceil_mode and not module.return_indices


def _largest_of_four(x: torch.Tensor) -> torch.Tensor:
    if torch.is_grad_enabled() or x.device.type != "cpu" or min(x.shape[-2:]) < 2:
        return nn.functional.max_pool2d(x, 2)
    x = x[..., : x.shape[-2] // 2 * 2, : x.shape[-1] // 2 * 2]
    upper, lower = x[..., ::2, :], x[..., 1::2, :]
    return torch.maximum(
        torch.maximum(upper[..., ::2], upper[..., 1::2]), torch.maximum(lower[..., ::2], lower[..., 1::2])
    )


def train_mode(model: nn.Module) -> nn.Module:
    """Put a model in train mode, but for its frozen layers: batch norm and dropout stay fixed where nothing is learned.

    A layer is frozen if it has parameters, its own or those of layers within it, and none of them is trained.

    Parameters
    ----------
    model
        Any torch module.

    Returns
    -------
    torch.nn.Module
        The same module.

    Examples
    --------
    >>> model = nn.Sequential(nn.BatchNorm1d(2).requires_grad_(False), nn.Linear(2, 1))
    >>> [layer.training for layer in train_mode(model)]
    [False, True]
    """
    model.train()
    for layer in model.modules():
        parameters = list(layer.parameters())
        if parameters and not any(value.requires_grad for value in parameters):
            layer.eval()
    return model
