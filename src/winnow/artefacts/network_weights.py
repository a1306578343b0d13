"""Weights of a trained network as an artefact of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from ..core.errors import StoreError
from ..core.files import atomic

__all__ = ["Weights"]


@dataclass(frozen=True, eq=False)
class Weights:
    """The state of a network, saved as safetensors."""

    state: Mapping[str, torch.Tensor]

    @classmethod
    def of(cls, net: torch.nn.Module) -> Weights:
        """A copy of what a network holds now; tied weights are written as often as they are named."""
        return cls({name: value.detach().cpu().clone().contiguous() for name, value in net.state_dict().items()})

    def into(self, net: torch.nn.Module) -> None:
        """Give a network this state."""
        net.load_state_dict(self.state)

    def save(self, path: str | Path) -> Path:
        """Write it."""
        from safetensors.torch import save_file

        with atomic(path) as part:
            save_file(dict(self.state), part)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Weights:
        """Read what `save` wrote."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return cls(load_file(path))
        except (OSError, SafetensorError) as error:
            raise StoreError(f"{path} does not hold the weights of a network: {error}.") from None
