"""The slow path: per-example gradients for any layer, by torch.func or by a loop over examples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from ...core.errors import InputError

__all__ = ["alone", "by_func", "floating", "forward", "grad_enabled"]

Tensor = torch.Tensor


def floating(model: nn.Module) -> list[str]:
    """The names of the parameters that have gradients; a shared one is listed once, by its first name."""
    return [name for name, p in model.named_parameters() if p.is_floating_point()]


def forward(owner: str, model: nn.Module, x: Tensor) -> Tensor:
    """Run the network on a batch; if it fails, raise an error that names `owner`."""
    try:
        found: Tensor = model(x)
    except Exception as error:  # the network is the caller's own code, which may raise anything
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"model of {owner} must accept its inputs; on {len(x)} example(s) of shape {tuple(x.shape[1:])} "
            f"it failed with {type(error).__name__}: {said[:200]}."
        ) from error
    return found


@contextmanager
def grad_enabled(model: nn.Module) -> Iterator[None]:
    """Let every parameter be differentiated, and restore the previous state afterwards."""
    before = [(p, p.requires_grad) for p in model.parameters()]
    for p, _ in before:
        p.requires_grad_(p.is_floating_point())
    try:
        with torch.enable_grad():
            yield
    finally:
        for p, was in before:
            p.requires_grad_(was)


def by_func(model: nn.Module, names: list[str], x: Tensor, weights: Tensor) -> dict[str, Tensor]:
    """Per-example gradients with respect to some parameters, batch x numbers each, by torch.func."""
    every = {name: p.detach() for name, p in model.named_parameters()}
    chosen = {name: every.pop(name) for name in names}
    others: dict[str, Any] = every | dict(model.named_buffers())

    def signed(some: dict[str, Tensor], one: Tensor, weight: Tensor) -> Tensor:
        logits: Tensor = functional_call(model, {**some, **others}, (one.unsqueeze(0),))[0]
        return (logits * weight).sum()

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")  # our own warning says it once
        found: Any = vmap(grad(signed), in_dims=(None, 0, 0))(chosen, x, weights)
    return {name: found[name].flatten(1) for name in names}


def alone(
    owner: str, model: nn.Module, names: list[str], x: Tensor, weights: Tensor
) -> tuple[Tensor, dict[str, Tensor], set[str]]:
    """One pass per example: logits, gradients (batch x numbers each), and which parameters were used."""
    chosen = [p for name, p in model.named_parameters() if name in set(names)]
    logits, used = [], set()
    rows: dict[str, Tensor] = {name: p.new_zeros(len(x), p.numel()) for name, p in zip(names, chosen, strict=True)}
    with grad_enabled(model):
        for i in range(len(x)):
            given = forward(owner, model, x[i : i + 1])
            logits.append(given.detach())
            total = (given * weights[i : i + 1]).sum()
            if not total.requires_grad:
                continue
            try:
                slopes = torch.autograd.grad(total, chosen, allow_unused=True)
            except RuntimeError as error:
                said = " ".join(str(error).split()).rstrip(".")
                raise InputError(f"model of {owner} must be differentiable; torch says: {said[:200]}.") from error
            for name, slope in zip(names, slopes, strict=True):
                if slope is not None:
                    rows[name][i] = slope.detach().flatten()
                    used.add(name)
    return torch.cat(logits), rows, used
