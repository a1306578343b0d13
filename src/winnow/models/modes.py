"""Modes of a network: eval for a block, and train for all layers but the frozen ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


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
