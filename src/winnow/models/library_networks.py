"""The bridge to torchvision and timm; the only file that imports either, and only when one is requested.

Networks get new weights from the seed and a head for the given classes. Nothing is ever downloaded: trained weights are
a file that the user names with `weights=`.
"""

from __future__ import annotations

import difflib
from typing import Any

from torch import nn

from ..core.errors import InputError, MissingDependencyError, UnknownNameError

__all__ = ["LIBRARIES", "bridged"]

LIBRARIES = ("torchvision", "timm")
# These two add auxiliary heads by default and then return a tuple in train mode.
WITH_AUXILIARY_HEADS = ("googlenet", "inception_v3")


def bridged(library: str, name: str, classes: int, channels: int, options: dict[str, Any]) -> nn.Module:
    """Return a network of torchvision or timm with `classes` outputs for images with `channels` channels."""
    if "pretrained" in options:
        if options["pretrained"]:
            raise InputError(
                f"pretrained of network '{library}:{name}' must not be set, because it would download; pass a file of "
                f"weights with weights= instead."
            )
        options = {key: value for key, value in options.items() if key != "pretrained"}
    make = _torchvision if library == "torchvision" else _timm
    return make(name, classes, channels, options)


def _torchvision(name: str, classes: int, channels: int, options: dict[str, Any]) -> nn.Module:
    try:
        import torchvision
    except ImportError:
        raise MissingDependencyError.of("torchvision", "vision", f"network 'torchvision:{name}'") from None
    known = torchvision.models.list_models(module=torchvision.models)
    if name not in known:
        raise _unknown("torchvision", name, known)
    if name in WITH_AUXILIARY_HEADS:
        options = {"aux_logits": False, "init_weights": True, **options}
    model = _made(
        f"torchvision:{name}",
        torchvision.models.get_model,
        {"name": name, "weights": None, "num_classes": classes, **options},
    )
    if channels != 3:
        _change_first_convolution(model, channels)
    return model


def _timm(name: str, classes: int, channels: int, options: dict[str, Any]) -> nn.Module:
    try:
        import timm
    except ImportError:
        raise MissingDependencyError.of("timm", "vision", f"network 'timm:{name}'") from None
    if not timm.is_model(name):
        raise _unknown("timm", name, timm.list_models())
    return _made(
        f"timm:{name}",
        timm.create_model,
        {"model_name": name, "pretrained": False, "num_classes": classes, "in_chans": channels, **options},
    )


def _made(name: str, make: Any, arguments: dict[str, Any]) -> nn.Module:
    try:
        model = make(**arguments)
    except (TypeError, ValueError, AssertionError, RuntimeError) as error:
        raise InputError(f"options of network {name!r} were refused by it: {_line(error)}.") from None
    if not isinstance(model, nn.Module):
        raise InputError(f"network {name!r} is not a torch module; got {type(model).__name__}.")
    return model


def _change_first_convolution(model: nn.Module, channels: int) -> None:
    for path, layer in model.named_modules():
        if isinstance(layer, nn.Conv2d) and layer.in_channels == 3 and layer.groups == 1:
            parent, _, leaf = path.rpartition(".")
            options: dict[str, Any] = {
                word: getattr(layer, word) for word in ("out_channels", "kernel_size", "stride", "padding", "dilation")
            }
            fresh = nn.Conv2d(channels, bias=layer.bias is not None, **options)
            setattr(model.get_submodule(parent), leaf, fresh)
            return
    raise InputError(f"a {type(model).__name__} takes 3 channels and cannot be changed to take {channels}.")


def _unknown(library: str, name: str, known: list[str]) -> UnknownNameError:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    hint = f" (nearest: '{library}:{near[0]}')" if near else ""
    return UnknownNameError(f"unknown network '{library}:{name}'{hint}; {library} knows {len(known)} networks.")


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
