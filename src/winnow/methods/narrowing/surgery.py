"""Remove neurons from a network, fold the counts into the weights, and rebuild a narrow network from its weights."""

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
from .counted_norms import shrink_norm
from .layer_pairs import Pair, find_pairs
from .steps import Refused

__all__ = ["copied", "fold", "restore", "settle_dropout", "shrink"]

DROPOUT = ("refuse", "keep", "off")


def fold(net: nn.Module) -> nn.Module:
    """Return a plain network with the same outputs, for export: counts are folded into the outgoing weights.

    A folded network no longer trains like the wide one: with the count inside the weight, no scale of its gradient is
    right for every optimiser. Fold after training.

    Parameters
    ----------
    net
        A network made by `narrow`; it is not changed.

    Returns
    -------
    torch.nn.Module
        A plain copy.

    Raises
    ------
    InputError
        If `net` was not made by `narrow`.

    Examples
    --------
    >>> from winnow.methods.narrowing.narrow import narrow
    >>> wide = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 1))
    >>> net = narrow(wide, 10, order=1)
    >>> x = torch.ones(3, 2)
    >>> type(fold(net)[2]).__name__, torch.allclose(fold(net)(x), net(x), atol=1e-5)
    ('Linear', True)
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
    """Rebuild the narrow network that a `state_dict` belongs to, from the wide network's code.

    No pickle is needed: the counts in the state say which vectors were narrowed and by how much, and the model says how
    the layers are connected. Gradients are again divided by the counts.

    Parameters
    ----------
    model
        The wide network, with any weights; it is not changed.
    state
        The `state_dict` of the narrow network, for example as read by `safetensors.torch.load_file`.
    layers
        As given to `narrow`.
    dropout
        As given to `narrow`.

    Returns
    -------
    torch.nn.Module
        The narrow network with the weights of `state`.

    Raises
    ------
    InputError
        If the state is not that of a narrowed network, or does not fit the model.
    NotDefinedError
        If a layer cannot be narrowed in this model.

    Examples
    --------
    >>> from winnow.methods.narrowing.narrow import narrow
    >>> wide = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 1))
    >>> net = narrow(wide, 10, order=1)
    >>> again = restore(wide, net.state_dict())
    >>> torch.equal(again(torch.ones(3, 2)), net(torch.ones(3, 2)))
    True
    """
    checks.choice("dropout", "restore", dropout, DROPOUT)
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError("state of restore must be tensors by name, as in a state_dict.")
    counts = {name.removesuffix(".counts"): value for name, value in state.items() if name.endswith(".counts")}
    if not counts:
        raise InputError("state of restore must come from a narrowed network; it has no counts.")
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
    for name in pair.norms:
        shrink_norm(net.get_submodule(name), kept, second, shared)
    _no_fast_path(net)


def settle_dropout(net: nn.Module, pair: Pair, dropout: str) -> None:
    """Raise for an active dropout between the layers of a pair, keep it, or turn it off, in place."""
    if pair.dropout == 0 or dropout == "keep":
        return
    if dropout == "refuse":
        raise Refused(
            f"a dropout of {pair.dropout:g} after it would drop all the neurons that one represents at once; pass "
            "dropout='off' to train without it, or dropout='keep' to accept the noise"
        )
    if "" in pair.dropouts:
        raise Refused(
            "a dropout after it is a function call, or a module used elsewhere too, and cannot be turned off alone; "
            "pass dropout='keep', or change the model"
        )
    for name in pair.dropouts:
        net.get_submodule(name).p = 0.0  # type: ignore[assignment]


def copied(model: nn.Module, owner: str) -> nn.Module:
    """Copy a model, with its hooks and attributes."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise InputError(f"model of {owner} cannot be copied ({str(error).splitlines()[0]}).") from None


def _narrowed(name: str, net: object) -> None:
    if not isinstance(net, nn.Module) or not any(isinstance(layer, CountedLayer) for layer in net.modules()):
        raise InputError(f"{name} must be a network made by narrow; got {type(net).__name__}.")


def _replace(layer: nn.Module, name: str, change: Any) -> None:
    old = getattr(layer, name)
    setattr(layer, name, nn.Parameter(change(old.detach()).clone(), requires_grad=old.requires_grad))


def _no_fast_path(net: nn.Module) -> None:
    """Turn off torch's fused transformer path, which reads weights directly and would miss the counts."""
    for module in net.modules():
        if isinstance(module, nn.TransformerEncoderLayer) and isinstance(module.linear2, CountedLayer):
            module.activation_relu_or_gelu = 0
        if isinstance(module, nn.TransformerEncoder) and any(isinstance(m, CountedLayer) for m in module.modules()):
            module.use_nested_tensor = module.enable_nested_tensor = False


def _fused(activation: Any) -> int:
    """The number by which torch's fused layer knows an activation; 0 if it has none."""
    if activation is F.relu or isinstance(activation, nn.ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, nn.GELU) else 0
