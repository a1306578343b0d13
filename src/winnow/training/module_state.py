"""Copies of the tensors of modules and optimisers, by name, and how they are put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import torch
from torch import nn

__all__ = ["give_module", "give_optimizer", "held_by", "remembered_by"]


def held_by(module: nn.Module, prefix: str) -> dict[str, torch.Tensor]:
    """Copy all parameters and buffers, including those that `state_dict` leaves out."""
    return {f"{prefix}.{name}": _kept(value) for name, value in _tensors(module)}


def give_module(module: nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    """Load into a module what `held_by` copied; names that the module lacks are skipped."""
    with torch.no_grad():
        for name, value in _tensors(module):
            value.copy_(tensors[name])


def remembered_by(optimizer: torch.optim.Optimizer, names: Mapping[str, nn.Parameter]) -> dict[str, torch.Tensor]:
    """Copy the optimiser's state of each parameter that it has updated."""
    found = {}
    for name, parameter in names.items():
        for word, value in optimizer.state.get(parameter, {}).items():
            found[f"optimizer.{name}|{word}"] = _kept(torch.as_tensor(value))
    return found


def give_optimizer(
    optimizer: torch.optim.Optimizer, names: Mapping[str, nn.Parameter], tensors: Mapping[str, torch.Tensor]
) -> None:
    """Load into an optimiser the state that `remembered_by` copied."""
    for key, value in tensors.items():
        name, _, word = key.rpartition("|")
        if name in names:
            parameter = names[name]
            like = torch.empty_like(parameter) if value.shape == parameter.shape else torch.empty_like(value)
            placed = like.to(parameter.device, value.dtype).detach()  # in the parameter's own memory layout
            optimizer.state[parameter][word] = placed.copy_(value)


def _tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    return chain(module.named_parameters(), module.named_buffers())


def _kept(value: torch.Tensor) -> torch.Tensor:
    return value.detach().to("cpu", copy=True).contiguous()
