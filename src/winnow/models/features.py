"""The head of a network by its declaration, and the features of a batch.

`representation.py` decides what the features are: the input of the head, the output of a network without one, or the
output of a layer given by name. Feature maps (n x C x H x W) are averaged over the image; what else a named layer gives
is flattened to one row per example.
"""

from __future__ import annotations

import torch
from torch import nn

from ..core.errors import InputError
from .representation import representation

__all__ = ["feature_layer", "features_of"]


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
        Name of a layer, as in `model.named_modules()`, whose output to use. If not given, the input of the head, or
        the output of a network without one.

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
    return representation(model, x, layer)(model, x)
