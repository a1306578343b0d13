"""Which layers of a model can be narrowed: pairs of layers with only neuron-wise operations between them.

A pair is found in the model's graph, as traced by torch.fx: a linear layer or convolution, then an activation and
other operations that treat each neuron or channel separately, then the layer that reads it, with no other reader. The
feed-forward block of torch's own transformer layers is such a pair; the tracer does not look into it, so it is
recognised by its class.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch import fx, nn

from ...core.errors import InputError, NotDefinedError, UnknownNameError
from .counted_layers import PLAIN, CountedLayer
from .pair_conditions import fit, not_tied, outputs
from .steps import ELEMENTWISE, Refused, Step, not_hooked, only_asks, step_of

__all__ = ["Found", "Pair", "find_pairs", "known_layers", "matching"]

BLOCKS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
WAY_OUT = "name the first layer of each pair with layers="


@dataclass(frozen=True)
class Pair:
    """Two layers and the hidden vector between them.

    Attributes
    ----------
    first, second
        Names of the layer that writes the hidden vector and of the layer that reads it.
    width
        The number of neurons, or channels, of the hidden vector.
    smooth
        Whether all activations between the layers are smooth.
    dropout
        The highest rate of the dropouts between the layers.
    dropouts
        Names of the dropout modules between the layers; empty if a dropout is a function call or is used elsewhere too.
    norms
        Names of the batch norms between the layers.
    """

    first: str
    second: str
    width: int
    smooth: bool = True
    dropout: float = 0.0
    dropouts: tuple[str, ...] = ()
    norms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The pairs of a model in the order of its forward pass, and the reason why each other layer starts none."""

    pairs: tuple[Pair, ...]
    refused: Mapping[str, str] = field(default_factory=dict)


def find_pairs(model: nn.Module, layers: Sequence[str] | None = None) -> Found:
    """Find the pairs of layers that `narrow` can work on.

    Parameters
    ----------
    model
        A network of plain torch layers.
    layers
        Names of first layers, or patterns of names such as `blocks.*.mlp.fc1`. If the whole model cannot be traced,
        the largest traceable part that contains the layer is used.

    Returns
    -------
    Found
        The pairs, and the reasons why other layers cannot be narrowed.

    Raises
    ------
    InputError
        If the model is not a torch module with weights, or was narrowed already.
    UnknownNameError
        If a name matches no layer.
    NotDefinedError
        If a named layer cannot be narrowed, or the model cannot be traced.

    Examples
    --------
    >>> found = find_pairs(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)))
    >>> [(pair.first, pair.second, pair.width) for pair in found.pairs]
    [('0', '2', 8)]
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"model of narrow must be a torch module; got {type(model).__name__}.")
    if any(isinstance(layer, CountedLayer) for layer in model.modules()):
        raise InputError(
            "model of narrow must not be narrowed already; narrow the wide network, or fold this one first."
        )
    for name, value in itertools.chain(model.named_parameters(), model.named_buffers()):
        if nn.parameter.is_lazy(value):
            raise InputError(f"model of narrow must hold its weights, but {name} has no shape yet; run the model once.")
    modules = dict(model.named_modules())
    blocks, unfit = _in_blocks(modules)
    if layers is None:
        return _everywhere(modules, blocks, unfit)
    if not isinstance(layers, str) and not len(layers):
        raise InputError("layers of narrow must name at least one layer; got an empty list.")
    wanted = matching("layers of narrow", layers, known_layers(model))
    pairs = []
    for name in wanted:
        if name in blocks:
            pairs.append(blocks[name])
            continue
        try:
            if name in unfit:
                raise Refused(unfit[name])
            pairs.append(_named(name, modules))
        except Refused as reason:
            raise NotDefinedError(f"layer {name!r} cannot be narrowed: {reason}.") from None
    return Found(tuple(pairs))


def known_layers(model: nn.Module) -> list[str]:
    """Names of the layers that could start a pair."""
    return [name for name, layer in model.named_modules() if isinstance(layer, PLAIN)]


def matching(owner: str, patterns: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the known names that match the patterns, each once; raise for a pattern that matches none."""
    if isinstance(patterns, str) or not all(isinstance(item, str) for item in patterns):
        raise InputError(f"{owner} must be names of layers, in a list; got {patterns!r}.")
    found: dict[str, None] = {}
    for pattern in patterns:
        names = [name for name in known if name == pattern] or fnmatch.filter(known, pattern)
        if not names:
            raise UnknownNameError.of(f"name in {owner}:", pattern, known or ["(none)"])
        found |= dict.fromkeys(names)
    return list(found)


def _everywhere(modules: Mapping[str, nn.Module], blocks: Mapping[str, Pair], unfit: Mapping[str, str]) -> Found:
    """All pairs of a model that is traced as a whole, and those of its transformer blocks except the unfit."""
    refused = dict(unfit)
    try:
        graph = _traced(modules[""])
    except Refused as reason:
        if not blocks and not unfit:
            raise NotDefinedError(f"model of narrow {reason}; {WAY_OUT}.") from None
        return Found(tuple(blocks.values()), {**unfit, "": f"the rest of the model {reason}"})
    found: dict[str, Pair] = {}
    for node in graph.nodes:
        name = str(node.target)
        if node.op != "call_module" or not isinstance(modules[name], PLAIN) or name in refused:
            continue
        try:
            pair = _from(node, graph, modules)
        except Refused as reason:
            refused[name] = str(reason)
            continue
        if pair is not None:
            found[name] = pair
    # A transformer layer that is the model itself is also traced into; its class gives the better answer.
    return Found(
        tuple({**found, **blocks}.values()), {name: why for name, why in refused.items() if name not in blocks}
    )


def _named(name: str, modules: Mapping[str, nn.Module]) -> Pair:
    """The pair that a named layer starts, from the largest traceable part around it."""
    parts = name.split(".")
    failures = []
    for depth in range(len(parts)):
        path = ".".join(parts[:depth])
        try:
            graph = _traced(modules[path])
        except Refused as reason:
            failures.append(str(reason))
            continue
        start = f"{path}." if path else ""
        inner = dict(modules[path].named_modules())
        nodes = [node for node in graph.nodes if node.op == "call_module" and node.target == name.removeprefix(start)]
        if not nodes:
            raise Refused(f"the forward pass of {path or 'the model'} does not call it as a separate layer")
        pair = _from(nodes[0], graph, inner)
        if pair is None:
            raise Refused("no layer reads its output after an activation")
        within = tuple(one and start + one for one in pair.dropouts)
        norms = tuple(start + one for one in pair.norms)
        pair = replace(pair, first=start + pair.first, second=start + pair.second, dropouts=within, norms=norms)
        for end in (pair.first, pair.second, *norms):
            not_tied(end, modules)
        return pair
    raise Refused(f"no part around it can be traced, the smallest because it {failures[-1]}")


def _traced(module: nn.Module) -> fx.Graph:
    try:
        return fx.Tracer().trace(module)
    except Exception as error:  # tracing runs the model's own code on stand-ins, which may raise anything
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise Refused(f"cannot be traced by torch.fx ({why})") from None


def _from(node: fx.Node, graph: fx.Graph, modules: Mapping[str, nn.Module]) -> Pair | None:
    """The pair that starts at a layer's call; None if its output is not a hidden vector."""
    first = str(node.target)
    steps: list[Step] = []
    here = node
    while True:
        readers = [user for user in here.users if not only_asks(user)]
        if len(readers) != 1:
            names = ", ".join(user.name for user in readers) or "nothing"
            raise Refused(f"its hidden vector must have one reader, but is read by {names}")
        here = readers[0]
        if here.op == "output":
            return None
        second = modules.get(str(here.target)) if here.op == "call_module" else None
        if isinstance(second, PLAIN):
            break
        steps.append(step_of(here, modules))
    fit(node, here, steps, graph, modules)
    calls = [str(call.target) for call in graph.nodes if call.op == "call_module"]
    return Pair(
        first,
        str(here.target),
        outputs(modules[first]),
        smooth=all(step.smooth for step in steps),
        dropout=max((step.rate for step in steps if step.kind == "dropout"), default=0.0),
        dropouts=tuple(
            step.module if calls.count(step.module) == 1 else ""
            for step in steps
            if step.kind == "dropout" and step.rate
        ),
        norms=tuple(step.module for step in steps if step.kind == "norm"),
    )


def _in_blocks(modules: Mapping[str, nn.Module]) -> tuple[dict[str, Pair], dict[str, str]]:
    """The feed-forward pairs of torch's transformer layers, by first layer, and why some of them are not pairs."""
    found, unfit = {}, {}
    for name, block in modules.items():
        if not isinstance(block, BLOCKS) or type(block)._ff_block not in [kind._ff_block for kind in BLOCKS]:
            continue
        act = block.activation
        word = (getattr(act, "__name__", None) or type(act).__name__).replace("_", "").lower()
        start = f"{name}." if name else ""
        first, second, between = (f"{start}{part}" for part in ("linear1", "linear2", "dropout"))
        try:
            if word not in ELEMENTWISE:
                raise Refused(f"its activation ({word}) may not treat each neuron separately")
            for end in (first, second):
                if type(modules[end]) is not nn.Linear:
                    raise Refused(f"{end} is not a plain layer that holds its own weight")
                not_tied(end, modules)
            for part in (first, second, between, *([f"{start}activation"] if isinstance(act, nn.Module) else [])):
                not_hooked(part, modules)
        except Refused as reason:
            unfit[first] = str(reason)
            continue
        smooth, rate = ELEMENTWISE[word], float(block.dropout.p)
        found[first] = Pair(first, second, block.linear1.out_features, smooth, rate, (between,))
    return found, unfit
