"""The whole state of a pretraining in the middle: tensors by name, and plain values beside them.

Weights, buffers that torch leaves out of `state_dict` (a queue), the optimiser's memory by the name of each parameter:
a training that takes up a state goes on as though it had never stopped. Saved as safetensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import torch
from torch import nn

__all__ = ["give_module", "give_optimizer", "held_by", "remembered_by"]


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
