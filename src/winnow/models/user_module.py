"""The user's own network: a module that is copied and reinitialised, or a function that makes one.

Several seeds are useful only if they start from different weights, so the given module is copied and every layer's
`reset_parameters` is called under the seed. To verify that nothing was missed, all parameters are first overwritten
with NaN: one that is still NaN afterwards belongs to a layer that cannot be reinitialised, and the error names it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..core.errors import InputError

__all__ = ["copied", "made"]

WAY_OUT = "pass a function that builds the network instead, or fresh=False to start from the current weights"


def copied(module: nn.Module, fresh: bool) -> nn.Module:
    """Copy `module` to the CPU, with new parameters if `fresh`; call it with torch seeded."""
    kind = type(module).__name__
    if any(isinstance(value, nn.UninitializedParameter) for value in module.parameters()):
        raise InputError(f"model of type {kind} has lazy layers without a shape yet; run one batch through it first.")
    try:
        twin = copy.deepcopy(module).to("cpu")
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"model of type {kind} cannot be copied ({str(error).splitlines()[0]}); pass a function "
            "that builds the network instead."
        ) from None
    if fresh:
        _restart(twin, kind)
    return twin


def _restart(model: nn.Module, kind: str) -> None:
    floats = {name: value for name, value in model.named_parameters() if value.is_floating_point()}
    with torch.no_grad():
        for value in floats.values():
            value.fill_(torch.nan)
        # Children before parents, so that a parent that sets up its children has the last word.
        for layer in reversed(list(model.modules())):
            reset = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
            if callable(reset):
                reset()
    left = [name for name, value in floats.items() if bool(torch.isnan(value).any())]
    if left:
        raise InputError(
            f"model of type {kind} cannot be reinitialised from a seed: {len(left)} of {len(floats)} "
            f"parameters (the first: {left[0]}) belong to no layer with reset_parameters; {WAY_OUT}."
        )


def made(factory: Callable[[], Any]) -> nn.Module:
    """Return what a function without arguments builds; call it with torch seeded."""
    name = getattr(factory, "__name__", type(factory).__name__)
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise InputError(f"model given as the function {name!r} must be callable without arguments; {error}.") from None
    except ValueError:  # some builtins have no signature; calling them is the only test
        pass
    model = factory()
    if not isinstance(model, nn.Module):
        raise InputError(
            f"model given as the function {name!r} must return a torch module; it returned a {type(model).__name__}."
        )
    return model
