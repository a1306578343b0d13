"""Frozen: a trained network with a fixed representation, on which only a linear head is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ..core.errors import InputError
from ..core.files import fingerprint
from .features import features_of
from .identity import DescribedModel, describe
from .modes import eval_mode

__all__ = ["PENULTIMATE", "Frozen", "state_of"]

PENULTIMATE = "penultimate"


@dataclass(frozen=True, eq=False)
class Frozen(DescribedModel):
    """A network as a fixed map from examples to features: in eval mode, without gradients, with its current weights.

    Parameters
    ----------
    backbone
        A torch module.
    layer
        Which output the features are: None uses the output of the module, `penultimate` what enters its head, any other
        string the layer of that name. Feature maps are averaged over the image.
    mean, std
        How it expects its inputs to be scaled, one number per channel (images in 0 to 1); if not given, measured on the
        training data.

    Raises
    ------
    InputError
        If `backbone` is not a torch module, or `layer` is not a string.

    Examples
    --------
    >>> frozen = Frozen(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), layer="penultimate")
    >>> frozen.width((4,), "example")
    8
    """

    backbone: nn.Module
    layer: str | None = None
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.backbone, nn.Module):
            raise InputError(f"backbone of Frozen must be a torch module; got {type(self.backbone).__name__}.")
        if self.layer is not None and not isinstance(self.layer, str):
            raise InputError(f"layer of Frozen must be None or the name of a layer; got {self.layer!r}.")

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the network, its weights and how it is used."""
        state = state_of(self.backbone)
        how = [self.layer, None if self.mean is None else list(self.mean), None if self.std is None else list(self.std)]
        return fingerprint(describe(self.backbone), how, *state)

    def describe(self) -> dict[str, Any]:
        """Return its description as plain values."""
        return {"frozen": describe(self.backbone), "layer": self.layer, "fingerprint": self.fingerprint}

    def width(self, shape: Sequence[int], owner: str) -> int:
        """Return the number of features per example, by trying two empty ones; raise if they are not vectors."""
        first = next(self.backbone.parameters(), torch.zeros(0))
        with eval_mode(self.backbone), torch.no_grad():
            return int(self.features(torch.zeros(2, *shape, device=first.device), owner).shape[1])

    def features(self, x: torch.Tensor, owner: str = "Frozen") -> torch.Tensor:
        """Compute the features of a batch, one row per example; the caller sets eval mode."""
        kind = type(self.backbone).__name__
        try:
            if self.layer is None:
                found: Any = self.backbone(x)
            else:
                found = features_of(self.backbone, x, None if self.layer == PENULTIMATE else self.layer)
        except (RuntimeError, IndexError, TypeError, AssertionError) as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(
                f"backbone of {owner}, a {kind}, cannot take examples of shape {tuple(x.shape[1:])}: {why}."
            ) from None
        if isinstance(found, torch.Tensor) and found.ndim == 4:
            found = found.mean((2, 3))
        if not isinstance(found, torch.Tensor) or found.ndim != 2 or found.shape[0] != len(x) or not found.shape[1]:
            given = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
            raise InputError(
                f"backbone of {owner}, a {kind}, must give one vector per example, (n, features) for n of them; got "
                f"{given} for {len(x)}."
            )
        return found


def state_of(module: nn.Module) -> list[bytes]:
    """Return the bytes of its weights and buffers, in order, for any float type."""
    found = []
    for name, value in module.state_dict().items():
        if is_lazy(value) or value.is_meta:
            raise InputError(f"weights of a {type(module).__name__} must have values; {name} has none yet.")
        plain = value.detach().cpu().contiguous()
        found.append((plain.view(torch.int16) if plain.dtype == torch.bfloat16 else plain).numpy().tobytes())
    return found
