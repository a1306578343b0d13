"""Where and how precisely a network runs: the device and precision of a recipe, as torch wants to be told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch

from ..core.errors import InputError
from .recipe import Recipe

__all__ = ["device_of", "outputs", "safe_kernels"]


def device_of(recipe: Recipe) -> torch.device:
    """Return the device of a recipe."""
    if recipe.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(recipe.device)
        torch.zeros(1, device=device).item()
        return device
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(
            f"device of Recipe must be 'auto' or an available torch device, such as 'cpu'; got {recipe.device!r}."
        ) from None


def outputs(model: torch.nn.Module, x: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    """Run the model on a batch, in the recipe's precision."""
    with torch.autocast(x.device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16"):
        return cast(torch.Tensor, model(x))


@contextmanager
def safe_kernels(recipe: Recipe) -> Iterator[None]:
    """Turn off oneDNN for bfloat16 on a CPU: if a virtual machine hides AMX, its kernels kill the process."""
    kernels: Any = torch.backends.mkldnn  # its flag is a module property, unknown to the type checker
    before = kernels.enabled
    if recipe.precision == "bfloat16" and device_of(recipe).type == "cpu":
        kernels.enabled = False
    try:
        yield
    finally:
        kernels.enabled = before
