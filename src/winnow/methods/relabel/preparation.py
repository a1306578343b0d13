"""Prepare images for a network: its number of channels, its size, its mean and standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ...artefacts import Source
from ...core import checks
from ...core.errors import InputError

__all__ = ["Preparation", "declared_scale", "preparation"]


@dataclass(frozen=True)
class Preparation:
    """Prepares a batch for a network: repeat channels, resize, then scale."""

    repeat: int
    size: int | None
    mean: torch.Tensor | None
    std: torch.Tensor | None

    @property
    def about(self) -> dict[str, Any]:
        """Size and scaling as plain values."""
        plain = [None if one is None else [float(v) for v in one.flatten()] for one in (self.mean, self.std)]
        return {"size": self.size, "mean": plain[0], "std": plain[1]}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the prepared batch."""
        if self.repeat > 1:
            x = x.expand(-1, self.repeat, -1, -1)
        if self.size is not None and x.shape[2:] != (self.size, self.size):
            x = nn.functional.interpolate(x, (self.size, self.size), mode="bilinear", antialias=True)
        if self.mean is None or self.std is None:
            return x
        return (x - self.mean.to(x.device)) / self.std.to(x.device)


def declared_scale(
    network: nn.Module, weights: str | Path | None, mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[Sequence[float] | None, Sequence[float] | None]:
    """Mean and std as given, or as declared by a trained timm network."""
    declared = getattr(network, "pretrained_cfg", None)
    if mean is None and std is None and weights is not None and isinstance(declared, dict):
        first = next((layer for layer in network.modules() if isinstance(layer, nn.Conv2d)), None)
        if first is None or first.in_channels == len(declared.get("mean") or ()):  # else trained on other images
            return declared.get("mean"), declared.get("std")
    return mean, std


def preparation(
    owner: str,
    source: Source,
    network: nn.Module,
    size: int | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
) -> Preparation:
    """Work out how the examples of a source must be prepared for this network."""
    channels, flat = source.shape[0], len(source.shape) != 3
    if size is not None and flat:
        raise InputError(f"size of {owner} is for images only; source {source.name!r} has shape {source.shape}.")
    first = next((layer for layer in network.modules() if isinstance(layer, nn.Conv2d)), None)
    repeat = first.in_channels if first is not None and channels == 1 and not flat else 1
    if (mean is None) != (std is None):
        raise InputError(f"mean and std of {owner} must be given together; got only one of them.")
    if mean is None or std is None:
        return Preparation(repeat, size, None, None)
    rows = channels * repeat
    m = checks.array("mean", owner, mean, ndim=1, rows=rows, dtype=np.float32)
    s = checks.array("std", owner, std, ndim=1, rows=rows, dtype=np.float32)
    if (s <= 0).any():
        raise InputError(f"std of {owner} must be positive; got {list(std)}.")
    shape = (1, -1) + (1,) * (len(source.shape) - 1)
    return Preparation(repeat, size, torch.from_numpy(m).reshape(shape), torch.from_numpy(s).reshape(shape))
