"""Where a network's representation is, and how to compute it without changing the network.

The penultimate representation is the input of the final linear layer, the head. For any other layer, given by name, it
is the layer's output. Feature maps (n x C x H x W) are averaged over the image; everything else is flattened to one row
per example.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ..core.errors import InputError, UnknownNameError

__all__ = ["eval_mode", "feature_layer", "features_of"]


def feature_layer(model: nn.Module) -> str:
    """Return the name of the head: the layer whose input is the penultimate representation.

    If a model declares its own classifier (as timm's do), that is used; otherwise the linear layer registered last, or
    the convolution registered last in a network without linear layers.

    Parameters
    ----------
    model
        Any torch module.

    Returns
    -------
    str
        The name, as in `model.named_modules()`.

    Raises
    ------
    InputError
        If the model has no such layer.

    Examples
    --------
    >>> from winnow.models import build
    >>> feature_layer(build("lenet5", classes=10))
    'head'
    """
    layers = dict(model.named_modules())
    about = getattr(model, "pretrained_cfg", None)
    declared = about.get("classifier") if isinstance(about, dict) else None
    if isinstance(declared, str) and isinstance(layers.get(declared), nn.Linear | nn.Conv2d):
        return declared
    for kind in (nn.Linear, nn.Conv2d):
        # Attention's inner projection is a linear layer too, but it is never called as a module.
        found = [
            name
            for name, layer in layers.items()
            if isinstance(layer, kind) and type(layer).__name__ != "NonDynamicallyQuantizableLinear"
        ]
        if found:
            return str(found[-1])
    raise InputError(
        f"model of type {type(model).__name__} has no linear layer to take features before; name a layer with layer=."
    )


def features_of(model: nn.Module, x: torch.Tensor, layer: str | None = None) -> torch.Tensor:
    """Compute the features of a batch, one row per example.

    Parameters
    ----------
    model
        Any torch module; its mode (train or eval) and its gradients stay as the caller set them.
    x
        A batch, as the model takes it.
    layer
        Name of a layer, as in `model.named_modules()`, whose output to use; None uses the input of the head.

    Returns
    -------
    torch.Tensor
        n x features.

    Raises
    ------
    UnknownNameError
        If the model has no layer of that name.
    InputError
        If the layer is not used in the forward pass, or does not give one row per example.

    Examples
    --------
    >>> from winnow.models import build
    >>> features_of(build("lenet5", classes=10), torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 84])
    """
    layers = {name: module for name, module in model.named_modules() if name}
    name = feature_layer(model) if layer is None else layer
    if layer is not None and layer not in layers:
        raise UnknownNameError.of(f"layer of a {type(model).__name__}:", layer, layers or ["(none)"])
    target = layers.get(name, model)  # a single linear layer is its own head, under the empty name
    caught: list[Any] = []
    if layer is None:
        hook = target.register_forward_pre_hook(lambda _module, inputs: caught.append(inputs))
    else:
        hook = target.register_forward_hook(lambda _module, _inputs, output: caught.append(output))
    try:
        model(x)
    finally:
        hook.remove()
    if not caught:
        raise InputError(
            f"layer {name!r} of a {type(model).__name__} was not used in its forward pass; name another with layer=."
        )
    return _rows(caught[-1], name, len(x))


def _rows(caught: Any, name: str, n: int) -> torch.Tensor:
    while isinstance(caught, tuple | list) and caught:
        caught = caught[0]
    if not isinstance(caught, torch.Tensor) or caught.ndim == 0 or caught.shape[0] != n:
        what = tuple(caught.shape) if isinstance(caught, torch.Tensor) else type(caught).__name__
        raise InputError(f"layer {name!r} must give a tensor with one row for each of {n} examples; got {what}.")
    return caught.mean((2, 3)) if caught.ndim == 4 else caught.flatten(1) if caught.ndim > 1 else caught[:, None]


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
