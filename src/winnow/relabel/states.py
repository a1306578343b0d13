"""The whole state of a pretraining in the middle: tensors by name, and plain values beside them.

Weights, buffers that torch leaves out of `state_dict` (a queue), the optimiser's memory by the name of each parameter:
a training that takes up a state goes on as though it had never stopped. Saved as safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..errors import StoreError
from ..store import atomic

__all__ = ["State", "give_module", "give_optimizer", "held_by", "remembered_by"]


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """Tensors by name, and plain values.

    Parameters
    ----------
    tensors
        Copies of what the training holds.
    about
        Steps done, seconds, settings: whatever JSON can say.
    """

    tensors: Mapping[str, torch.Tensor]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"State({len(self.tensors)} tensors, {self.about.get('steps', 0)} steps done)"

    def within(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose names begin with `prefix` and a dot, without it."""
        return {name[len(prefix) + 1 :]: value for name, value in self.tensors.items() if name.startswith(prefix + ".")}

    def save(self, path: str | Path) -> Path:
        """Write one safetensors file; the plain values are JSON in its header."""
        from safetensors.torch import save_file

        with atomic(path) as part:
            save_file(dict(self.tensors), part, {"winnow": json.dumps(dict(self.about), sort_keys=True)})
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> State:
        """Read what `save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "pt") as file:
                about = json.loads((file.metadata() or {})["winnow"])
                return cls({name: file.get_tensor(name) for name in file.keys()}, about)  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise StoreError(f"{path} does not hold the state of a pretraining: {error}.") from None


def held_by(module: nn.Module, prefix: str) -> dict[str, torch.Tensor]:
    """Copies of all parameters and buffers, those included that `state_dict` leaves out."""
    return {f"{prefix}.{name}": _kept(value) for name, value in _tensors(module)}


def give_module(module: nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    """Give a module what `held_by` took; names that it lacks are left out."""
    with torch.no_grad():
        for name, value in _tensors(module):
            value.copy_(tensors[name])


def remembered_by(optimizer: torch.optim.Optimizer, names: Mapping[str, nn.Parameter]) -> dict[str, torch.Tensor]:
    """Copies of what the optimiser remembers of each parameter that it has moved."""
    found = {}
    for name, parameter in names.items():
        for word, value in optimizer.state.get(parameter, {}).items():
            found[f"optimizer.{name}|{word}"] = _kept(torch.as_tensor(value))
    return found


def give_optimizer(
    optimizer: torch.optim.Optimizer, names: Mapping[str, nn.Parameter], tensors: Mapping[str, torch.Tensor]
) -> None:
    """Give an optimiser the memory that `remembered_by` took."""
    for key, value in tensors.items():
        name, _, word = key.rpartition("|")
        if name in names:
            parameter = names[name]
            like = torch.empty_like(parameter) if value.shape == parameter.shape else torch.empty_like(value)
            placed = like.to(parameter.device, value.dtype).detach()  # in the parameter's own order of memory
            optimizer.state[parameter][word] = placed.copy_(value)


def _tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    return chain(module.named_parameters(), module.named_buffers())


def _kept(value: torch.Tensor) -> torch.Tensor:
    return value.detach().to("cpu", copy=True).contiguous()
