"""What two layers must fulfil to be a pair: the vector between them is a row of exchangeable neurons of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import fx, nn

from .counted_layers import PLAIN
from .steps import Refused, Step, not_hooked, within_channels

__all__ = ["fit", "not_tied", "outputs"]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def fit(
    first: fx.Node, second: fx.Node, steps: Sequence[Step], graph: fx.Graph, modules: Mapping[str, nn.Module]
) -> None:
    """Raise if the hidden vector is not a row of exchangeable neurons, or the weights are used elsewhere."""
    writer, reader = modules[str(first.target)], modules[str(second.target)]
    kinds = [step.kind for step in steps]
    if "activation" not in kinds:
        raise Refused(f"there is no activation between it and {second.target}")
    flat = [at for at, kind in enumerate(kinds) if kind in ("flatten", "mean")]
    if isinstance(writer, nn.Linear) and (not isinstance(reader, nn.Linear) or flat or "pool" in kinds):
        raise Refused(f"pooling, flattening or a convolution after it mixes its neurons before {second.target}")
    if isinstance(writer, CONVOLUTIONS):
        wanted = 1 if isinstance(reader, nn.Linear) else 0
        if len(flat) != wanted or (not wanted and type(reader) is not type(writer)):
            raise Refused(f"{second.target} does not read its channels one after the other")
        within_channels(steps, len(writer.kernel_size), flat[0] if flat else len(steps))
    if isinstance(reader, nn.Linear) and reader.in_features % outputs(writer):
        raise Refused(
            f"the {reader.in_features} inputs of {second.target} are not a multiple of its {outputs(writer)} outputs"
        )
    for at, step in enumerate(steps):
        if step.kind == "norm":
            sides = len(writer.kernel_size) if isinstance(writer, CONVOLUTIONS) and not (flat and at > flat[0]) else 1
            _per_neuron(step, sides, outputs(writer), modules)
            _own(step.module, graph, modules)
    for node in (first, second):
        _plain(str(node.target), modules)
        _own(str(node.target), graph, modules)


def _per_neuron(step: Step, sides: int, neurons: int, modules: Mapping[str, nn.Module]) -> None:
    """Raise if a batch norm does not treat each neuron, or each channel, separately."""
    norm: Any = modules[step.module]
    if step.sides != sides or norm.num_features != neurons:
        raise Refused(f"a norm ({step.module}) between it and the next layer is not over its {neurons} outputs")
    if norm.weight is None and norm.running_mean is None:
        raise Refused(
            f"a norm ({step.module}) between it and the next layer keeps nothing per neuron, so its axis is unknown"
        )


def _plain(name: str, modules: Mapping[str, nn.Module]) -> None:
    """Raise if a layer is not one of torch's own, or its channels are in groups."""
    layer = modules[name]
    not_hooked(name, modules)
    if type(layer) not in PLAIN or "weight" not in layer._parameters:
        raise Refused(f"{name} is not a plain layer that holds its own weight ({type(layer).__name__})")
    if getattr(layer, "groups", 1) != 1:
        raise Refused(f"{name} is a grouped convolution, whose channels cannot be exchanged")


def _own(name: str, graph: fx.Graph, modules: Mapping[str, nn.Module]) -> None:
    """Raise if a layer or its weights are used elsewhere too."""
    layer = modules[name]
    calls = [node for node in graph.nodes if node.op == "call_module" and modules[str(node.target)] is layer]
    if len(calls) > 1:
        raise Refused(f"{name} is used {len(calls)} times")
    if any(node.op == "get_attr" and str(node.target).startswith(f"{name}.") for node in graph.nodes):
        raise Refused(f"the weights of {name} are used outside it")
    not_tied(name, modules)


def not_tied(name: str, modules: Mapping[str, nn.Module]) -> None:
    """Raise if parameters also appear under another name."""
    own = {id(value) for value in modules[name].parameters()}
    for other, layer in modules.items():
        if layer is not modules[name] and own & {id(value) for value in layer.parameters(recurse=False)}:
            raise Refused(f"{name} shares its weights with {other or 'the model'}")


def outputs(layer: Any) -> int:
    """The number of neurons, or channels, that a layer writes."""
    return int(layer.weight.shape[0])
