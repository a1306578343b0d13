"""Taking neurons out of a network, folding the counts away, and building a narrow network again from its weights."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...core import checks
from ...core.errors import InputError, NotDefinedError
from .counted_layers import CountedLayer, attach, detach
from .layer_pairs import Pair, find_pairs
from .steps import Refused

__all__ = ["copied", "fold", "restore", "settle_dropout", "shrink"]

DROPOUT = ("refuse", "keep", "off")


def fold(net: nn.Module) -> nn.Module:
    """A plain network with the same outputs: counts go into the outgoing weights, for export.

    Training a folded network does not follow the wide one: with the count inside the weight no scale of its gradient
    is right for every optimiser. Fold when training is over.

    Parameters
    ----------
    net
        What `narrow` returned; it stays as it is.
    """
    _narrowed("net of fold", net)
    plain = copied(net, "fold")
    for layer in list(plain.modules()):
        if isinstance(layer, CountedLayer):
            detach(layer)
    for block in plain.modules():
        if isinstance(block, nn.TransformerEncoderLayer):
            block.activation_relu_or_gelu = _fused(block.activation)
    if hasattr(plain, "narrowed"):
        del plain.narrowed
    return plain


def restore(
    model: nn.Module, state: Mapping[str, Tensor], *, layers: Sequence[str] | None = None, dropout: str = "refuse"
) -> nn.Module:
    """The narrow network that a `state_dict` belongs to, built from the wide network's code.

    No pickle is needed: the counts in the state say which vectors were narrowed and how far, the model says how
    layers are connected. Gradients are divided by the counts again.

    Parameters
    ----------
    model
        The wide network, with whatever weights; it stays as it is.
    state
        What `state_dict` of the narrow network gave, for instance as `safetensors.torch.load_file` reads it.
    layers
        As `narrow` was given it.
    dropout
        As `narrow` was given it.
    """
    checks.choice("dropout", "restore", dropout, DROPOUT)
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError("state of restore must be tensors by name, as state_dict gives them.")
    counts = {name.removesuffix(".counts"): value for name, value in state.items() if name.endswith(".counts")}
    if not counts:
        raise InputError("state of restore must come from a narrowed network; it holds no counts.")
    by_reader = {pair.second: pair for pair in find_pairs(model, layers).pairs}
    net = copied(model, "restore")
    for name, value in counts.items():
        if name not in by_reader:
            raise InputError(
                f"state of restore has counts for {name!r}, which reads no vector that can be narrowed here."
            )
        pair = by_reader[name]
        if value.dim() != 1 or not 1 <= len(value) <= pair.width:
            raise InputError(
                f"state of restore has counts of shape {tuple(value.shape)} for {name!r}; the model's vector is "
                f"{pair.width} wide."
            )
        try:
            settle_dropout(net, pair, dropout)
        except Refused as reason:
            raise NotDefinedError(f"layer {pair.first!r} cannot be narrowed: {reason}.") from None
        shrink(net, pair, torch.arange(len(value)), value, shared=True)
    try:
        net.load_state_dict(dict(state))
    except RuntimeError as error:
        why = "; ".join(line.strip().rstrip(".") for line in str(error).splitlines()[1:])
        raise InputError(f"state of restore does not fit the model: {why}.") from None
    return net


def shrink(net: nn.Module, pair: Pair, kept: Tensor, counts: Tensor, *, shared: bool) -> None:
    """Keep some neurons of a pair's hidden vector, with their counts, in place."""
    first: Any = net.get_submodule(pair.first)
    second: Any = net.get_submodule(pair.second)
    _replace(first, "weight", lambda weight: weight[kept.to(weight.device)])
    if first.bias is not None:
        _replace(first, "bias", lambda bias: bias[kept.to(bias.device)])

    def columns(weight: Tensor) -> Tensor:
        grouped = weight.reshape(weight.shape[0], pair.width, -1, *weight.shape[2:])
        return grouped[:, kept.to(weight.device)].flatten(1, 2)

    _replace(second, "weight", columns)
    for layer in (first, second):
        outputs, inputs = layer.weight.shape[:2]
        word = "features" if isinstance(layer, nn.Linear) else "channels"
        setattr(layer, f"in_{word}", inputs)
        setattr(layer, f"out_{word}", outputs)
    attach(first, second, counts, shared)
    _no_fast_path(net)


def settle_dropout(net: nn.Module, pair: Pair, dropout: str) -> None:
    """Refuse an active dropout between the layers of a pair, keep it, or turn it off, in place."""
    if pair.dropout == 0 or dropout == "keep":
        return
    if dropout == "refuse":
        raise Refused(
            f"a dropout of {pair.dropout:g} behind it would drop all the neurons that one stands for at once; give "
            "dropout='off' to train without it, or dropout='keep' to accept the noise"
        )
    if "" in pair.dropouts:
        raise Refused(
            "a dropout behind it is a function call, or a module used elsewhere too, and cannot be turned off alone; "
            "give dropout='keep', or change the model"
        )
    for name in pair.dropouts:
        net.get_submodule(name).p = 0.0  # type: ignore[assignment]


def copied(model: nn.Module, owner: str) -> nn.Module:
    """A copy of a model, with everything that hangs on it."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise InputError(f"model of {owner} cannot be copied ({str(error).splitlines()[0]}).") from None


def _narrowed(name: str, net: object) -> None:
    if not isinstance(net, nn.Module) or not any(isinstance(layer, CountedLayer) for layer in net.modules()):
        raise InputError(f"{name} must be a network that narrow made; got {type(net).__name__}.")


def _replace(layer: nn.Module, name: str, change: Any) -> None:
    old = getattr(layer, name)
    setattr(layer, name, nn.Parameter(change(old.detach()).clone(), requires_grad=old.requires_grad))


def _no_fast_path(net: nn.Module) -> None:
    """Torch's fused transformer layer reads weights past the layers that hold them, and so past the counts."""
    for module in net.modules():
        if isinstance(module, nn.TransformerEncoderLayer) and isinstance(module.linear2, CountedLayer):
            module.activation_relu_or_gelu = 0
        if isinstance(module, nn.TransformerEncoder) and any(isinstance(m, CountedLayer) for m in module.modules()):
            module.use_nested_tensor = module.enable_nested_tensor = False


def _fused(activation: Any) -> int:
    """What torch's fused layer calls an activation; 0 if it has none such."""
    if activation is F.relu or isinstance(activation, nn.ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, nn.GELU) else 0
