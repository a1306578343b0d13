"""What a kernel is computed from, checked: a network in eval mode, inputs, and the signs that their logits get.

The signs of an example are the vector s(y) / sqrt(K) of the kind (see `kernel`), one number per logit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ...core import checks
from ...core.errors import InputError
from .plain_gradients import forward

__all__ = ["DTYPES", "KINDS", "KernelInputs", "Signs", "checked"]

Tensor = torch.Tensor
Signs = Callable[[Tensor], Tensor]  # from logits to their signs

KINDS = ("lpntk", "pntk", "forgetting", "error")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class KernelInputs(NamedTuple):
    """A network, inputs, and the signs of some of them, by a slice or positions."""

    net: nn.Module
    inputs: Tensor
    signs_of: Callable[[slice | Tensor], Signs]


def checked(
    owner: str,
    model: object,
    x: Any,
    y: Any,
    kind: str,
    dtype: str,
    least: int,
    names: tuple[str, str] = ("x", "y"),
) -> KernelInputs:
    """Return a copy of the network in eval mode, the inputs, and the signs of a slice of them."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model of {owner} must be a torch module; got {type(model).__name__}.")
    if any(p.is_complex() for p in model.parameters()):
        raise InputError(f"model of {owner} must have real parameters; this {type(model).__name__} has complex ones.")
    checks.choice("kind", owner, kind, KINDS)
    checks.choice("dtype", owner, dtype, DTYPES)
    real = DTYPES[dtype]
    net = copy.deepcopy(model).to("cpu", real).eval()
    if not any(p.is_floating_point() for p in net.parameters()):
        raise InputError(f"model of {owner} must have parameters; this {type(model).__name__} has none.")
    inputs = (x if isinstance(x, Tensor) else torch.as_tensor(np.require(x, requirements="W"))).detach().cpu()
    inputs = inputs.to(real) if inputs.is_floating_point() or inputs.dtype == torch.bool else inputs
    if inputs.dim() == 0 or len(inputs) < least:
        shape = tuple(inputs.shape)
        raise InputError(f"{names[0]} of {owner} must hold at least {least} example(s); got shape {shape}.")
    if inputs.is_floating_point():
        checks.finite(names[0], owner, inputs.numpy())
    given_labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else y
    labels = checks.array(names[1], owner, given_labels, ndim=1, rows=len(inputs))
    if labels.dtype.kind not in "iu":
        raise InputError(f"{names[1]} of {owner} must be integers, the classes; got dtype {labels.dtype}.")
    with torch.no_grad():
        given = forward(owner, net, inputs[:1])
    if not isinstance(given, Tensor) or given.dim() != 2 or given.shape[1] < 2:
        got = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(f"model of {owner} must give one logit per class, at least two; got {got} for one example.")
    classes = given.shape[1]
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            f"{names[1]} of {owner} must lie in 0 to {classes - 1}, the classes that the model has logits for; got "
            f"{int(labels.min())} to {int(labels.max())}."
        )
    where_true = torch.nn.functional.one_hot(torch.tensor(labels, dtype=torch.int64), classes).to(real)
    return KernelInputs(net, inputs, lambda part: _signs(kind, where_true[part], classes))


def _signs(kind: str, true: Tensor, classes: int) -> Signs:
    root = classes**0.5
    if kind == "error":
        return lambda logits: (true - logits.softmax(1)) / root
    fixed = {"lpntk": 2 * true - 1, "pntk": torch.ones_like(true), "forgetting": true - 1 / classes}[kind]
    return lambda _logits: fixed / root
