"""What may come between the two layers of a pair: operations that treat each neuron, or each channel, separately."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import fx, nn

from ..moments.advise import KINKED, SMOOTH
from .counted_norms import NORMS

__all__ = ["ELEMENTWISE", "Refused", "Step", "not_hooked", "only_asks", "step_of", "within_channels"]

# By name without underscores, as torch spells both the module and the function; True if it has all derivatives. Those
# that `advise` knows come from there; a PReLU may have a slope per channel and is handled separately.
ELEMENTWISE = {
    **{name.replace("_", ""): True for name in SMOOTH if name != "smooth"},
    **{name.replace("_", ""): False for name in KINKED if name != "prelu"},
    **dict.fromkeys(("logsigmoid", "tanhshrink"), True),
    **dict.fromkeys(("elu", "celu", "selu", "hardswish", "hardsigmoid"), False),
    **dict.fromkeys(("threshold", "softshrink", "hardshrink", "softsign"), False),
}
POOLS = {
    f"{kind}{n}d" for kind in ("maxpool", "avgpool", "adaptiveavgpool", "adaptivemaxpool", "lppool") for n in (1, 2, 3)
}
DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d"}
ADDITIONS = {operator.add, operator.iadd, torch.add}


class Refused(Exception):
    """Why a layer starts no pair; `narrow` turns it into an error if the layer was requested by name."""


@dataclass(frozen=True)
class Step:
    """One operation between two layers."""

    kind: str  # activation, dropout, norm, pool, flatten, mean or nothing
    smooth: bool = True
    rate: float = 0.0
    module: str = ""
    axes: tuple[int, ...] = ()  # that a mean is taken over
    sides: int = 0  # of the windows of a pool, or of the channels that a batch norm is made for


def not_hooked(name: str, modules: Mapping[str, nn.Module]) -> None:
    """Raise if a module has hooks, which could change its inputs or outputs unseen by the tracer."""
    if modules[name]._forward_hooks or modules[name]._forward_pre_hooks:
        raise Refused(f"{name} has a forward hook, which may mix its neurons or change with their number")


def step_of(node: fx.Node, modules: Mapping[str, nn.Module]) -> Step:
    """What a node does to a hidden vector; raises `Refused` if it mixes neurons or is not recognised."""
    if node.op == "call_module":
        not_hooked(str(node.target), modules)
        return _of_module(str(node.target), modules[str(node.target)])
    if node.op not in ("call_function", "call_method"):
        raise Refused(f"the operation after it is not recognised ({node.op} {node.target})")
    name = str(node.target) if node.op == "call_method" else str(getattr(node.target, "__name__", node.target))
    plain = name.replace("_", "").lower()
    if node.target in ADDITIONS or plain in ("add",):
        raise Refused(f"a residual or another sum ({node.name}) comes before the next layer")
    torchs = node.op == "call_method" or any(
        getattr(place, name, None) is node.target for place in (torch, F, torch._C._nn)
    )
    if torchs and plain in ELEMENTWISE:
        return Step("activation", ELEMENTWISE[plain])
    if torchs and plain in DROPOUTS:
        return Step("dropout", rate=float(_argument(node, 1, "p", 0.5)))
    if torchs and plain in POOLS and not node.kwargs.get("return_indices", False):
        return Step("pool", sides=int(plain[-2]))
    if _flattens(node, plain):
        return Step("flatten")
    if plain == "mean" and (axes := _averaged(node)):
        return Step("mean", axes=axes)
    if "norm" in plain:
        raise Refused(f"a norm ({node.name}) comes between it and the next layer")
    raise Refused(f"{name} comes between it and the next layer, which may not treat each neuron separately")


def within_channels(steps: Sequence[Step], sides: int, flat: int) -> None:
    """Raise if pools or means reach beyond a channel.

    Parameters
    ----------
    steps
        The operations between a convolution and its reader.
    sides
        The number of axes of a channel.
    flat
        The index of the step that flattens the channels.
    """
    for at, step in enumerate(steps):
        if step.kind == "pool" and at > flat:
            raise Refused("a pool after flattening mixes its channels")
        if step.kind == "pool" and step.sides != sides:
            raise Refused(f"a pool over {step.sides} axes does not fit channels of {sides} and may mix them")
        if step.kind == "mean" and sorted(axis % (sides + 2) for axis in step.axes) != list(range(2, sides + 2)):
            raise Refused(f"a mean over the axes {step.axes} is not over exactly the {sides} of its channels")


def _of_module(path: str, module: nn.Module) -> Step:
    name = type(module).__name__
    plain = name.lower()
    if not type(module).__module__.startswith("torch.nn."):
        raise Refused(
            f"{path} ({name}) comes between it and the next layer, which may not treat each neuron separately"
        )
    if plain in ELEMENTWISE:
        return Step("activation", ELEMENTWISE[plain], module=path)
    if isinstance(module, nn.PReLU) and module.num_parameters == 1:
        return Step("activation", False, module=path)
    if plain in DROPOUTS:
        return Step("dropout", rate=float(module.p), module=path)  # type: ignore[arg-type]
    if plain in POOLS and not getattr(module, "return_indices", False):
        return Step("pool", sides=int(plain[-2]))
    if isinstance(module, nn.Identity):
        return Step("nothing")
    if isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) == (1, -1):
        return Step("flatten")
    if type(module) in NORMS:
        return Step("norm", module=path, sides=NORMS.index(type(module)) + 1)
    if "norm" in plain:
        raise Refused(f"a norm ({path}) comes between it and the next layer")
    raise Refused(f"{path} ({name}) comes between it and the next layer, which may not treat each neuron separately")


def _argument(node: fx.Node, position: int, name: str, default: Any) -> Any:
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def _flattens(node: fx.Node, plain: str) -> bool:
    """Whether everything after the batch axis is flattened, channel after channel."""
    if plain == "flatten":
        return (_argument(node, 1, "start_dim", 0), _argument(node, 2, "end_dim", -1)) == (1, -1)
    if plain in ("view", "reshape") and node.op == "call_method":
        shape = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], (tuple, list)) else node.args[1:]
        return len(shape) == 2 and bool(shape[1] == -1) and isinstance(shape[0], fx.Node) and _is_batch(shape[0])
    return False


def _averaged(node: fx.Node) -> tuple[int, ...]:
    """The axes that a mean removes; none if it keeps them or they are not recognised."""
    dims = _argument(node, 1, "dim", ())
    axes = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    readable = all(isinstance(axis, int) for axis in axes) and _argument(node, 2, "keepdim", False) is False
    return axes if readable else ()


def _is_batch(node: fx.Node) -> bool:
    """Whether a node is the number of examples of some tensor."""
    if node.op == "call_method" and node.target == "size":
        return node.args[1:] == (0,)
    return node.op == "call_function" and node.target is operator.getitem and bool(node.args[1] == 0)


def only_asks(node: fx.Node) -> bool:
    """Whether a node reads only the batch size, type or device of a tensor."""
    if node.op == "call_method":
        if node.target == "size":
            return node.args[1:] == (0,) or (len(node.args) == 1 and all(map(_is_batch, node.users)))
        return node.target in ("dim", "is_contiguous")
    if node.op == "call_function" and node.target is getattr:
        if node.args[1] == "shape":
            return all(map(_is_batch, node.users))
        return node.args[1] in ("ndim", "dtype", "device")
    return False
