"""The weights of a trained network, as an artefact of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from ..core.layouts import Tensors
from ..core.serialiser import Saved

__all__ = ["Weights"]


@dataclass(frozen=True, eq=False)
class Weights(Saved, kind="weights of a network", layout=Tensors(group="state", torch=True, header="")):
    """The state of a network, saved as safetensors."""

    state: Mapping[str, torch.Tensor]

    @classmethod
    def of(cls, net: torch.nn.Module) -> Weights:
        """A copy of a network's current state; tied weights are stored once per name."""
        return cls({name: value.detach().cpu().clone().contiguous() for name, value in net.state_dict().items()})

    def into(self, net: torch.nn.Module) -> None:
        """Load this state into a network."""
        net.load_state_dict(self.state)
