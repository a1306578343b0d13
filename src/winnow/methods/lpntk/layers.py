"""One backward pass, layer by layer: inputs and output gradients of every layer whose kind is known.

In eval mode examples do not interact, so one backward pass of the sum over a batch of v(x) . z(x) leaves at every layer
the output gradient of each example, next to its input; `gradient_factors` turns them into gradients.

This holds for a layer of a known kind whose weights are used nowhere else and whose inputs and outputs have one example
per row. A `LayerPlan` names the layers for which this was verified (`layer_trust` makes it); the parameters of all
others are differentiated one example at a time (`plain_gradients`).

To add a kind of layer: extend `is_known`, `row_of` and `pieces_of`; `layer_trust` then verifies it against autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional

from .convolution_rows import geometry, image, kernel_rows
from .gradient_factors import Capture, DenseRows, Factors, Piece, Positions
from .plain_gradients import alone, by_func, floating, forward, grad_enabled
from .pooling import quick_pooling

__all__ = ["LayerPlan", "UnlikePlan", "capture", "fit", "is_known", "passed", "pieces_of", "row_of"]

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]  # what went into a layer, and the gradient of what came out
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm)


@dataclass(frozen=True)
class LayerPlan:
    """Which layers take the fast path.

    Attributes
    ----------
    owner
        The calling public function, named in errors.
    short
        The layers, by name, and how often each is used per pass.
    loop
        Whether the other parameters need a loop over examples because torch.func cannot handle them.
    """

    owner: str
    short: dict[str, int]
    loop: bool

    def long(self, model: nn.Module) -> list[str]:
        """The names of the parameters on the slow path."""
        return [name for name in floating(model) if name.rpartition(".")[0] not in self.short]

    def without(self, layers: set[str]) -> LayerPlan:
        """The plan with more layers on the slow path, by a loop, since their use changes from batch to batch."""
        return LayerPlan(self.owner, {name: uses for name, uses in self.short.items() if name not in layers}, True)

    def meet(self, other: LayerPlan) -> LayerPlan:
        """The layers that two plans for the same network agree on."""
        both = {name: uses for name, uses in self.short.items() if other.short.get(name) == uses}
        return LayerPlan(
            self.owner, both, self.loop or other.loop or not len(self.short) == len(both) == len(other.short)
        )


class UnlikePlan(Exception):
    """A batch used some layers differently from the plan."""

    def __init__(self, layers: set[str]) -> None:
        super().__init__(", ".join(sorted(layers)))
        self.layers = layers


def capture(
    model: nn.Module, x: Tensor, signs: Callable[[Tensor], Tensor], plan: LayerPlan, room: Capture | None = None
) -> Capture:
    """Differentiate signs(z) . z for every example of a batch, with `signs` (batch x classes) held constant.

    Parameters
    ----------
    model
        A network in eval mode.
    x
        A batch of inputs.
    signs
        Maps logits to the weights of the logits.
    plan
        Which layers take the fast path; `UnlikePlan` is raised if the batch uses them differently.
    room
        Rows of a panel that large gradients may be written to, which saves a copy.
    """
    layers = {name: module for name, module in model.named_modules() if name in plan.short}
    logits, weights, pairs = passed(plan.owner, model, layers, x, signs)
    unlike = {name for name, uses in plan.short.items() if len(pairs[name]) != uses or not fit(pairs[name], len(x))}
    if unlike:
        raise UnlikePlan(unlike)
    pieces: list[Piece] = []
    for name, uses in plan.short.items():
        if uses:
            pieces += pieces_of(layers[name], pairs[name], () if room is None else room.pieces[len(pieces) :])
    rest = plan.long(model)
    if rest:
        found = alone(plan.owner, model, rest, x, weights)[1] if plan.loop else by_func(model, rest, x, weights)
        pieces.append(DenseRows(torch.cat(list(found.values()), 1)))
    return Capture(tuple(pieces), logits)


def passed(
    owner: str, model: nn.Module, layers: dict[str, nn.Module], x: Tensor, signs: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, dict[str, list[Pair]]]:
    """Return the logits, their weights, and for each layer and use the input and the gradient of the output."""
    with grad_enabled(model), quick_pooling(model), _watched(layers) as calls:
        logits = forward(owner, model, x)
        weights = signs(logits.detach())
        total = (logits * weights).sum()
        reached = [use for found in calls.values() for use in found if use.edge is not None]
        edges = cast(Any, [use.edge for use in reached])
        slopes = torch.autograd.grad(total, edges, allow_unused=True) if reached and total.requires_grad else ()
    back = {id(use): slope for use, slope in zip(reached, slopes, strict=False) if slope is not None}
    pairs = {
        name: [
            (use.given, back[id(use)].detach() if id(use) in back else use.given.new_zeros(use.shape)) for use in found
        ]
        for name, found in calls.items()
    }
    return logits.detach(), weights, pairs


@dataclass(eq=False)
class _Use:
    """One use of a layer: its input, and where the gradient of its output arrives.

    The place in the graph is noted rather than the output, which a later layer may overwrite.
    """

    given: Tensor
    shape: torch.Size
    edge: Any


@contextmanager
def _watched(layers: dict[str, nn.Module]) -> Iterator[dict[str, list[_Use]]]:
    """Record the uses of layers."""
    calls: dict[str, list[_Use]] = {name: [] for name in layers}

    def hook(name: str) -> Callable[..., None]:
        def note(_module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
            into = given[0] if given else named.get("input")
            if isinstance(into, Tensor) and isinstance(output, Tensor):
                edge = torch.autograd.graph.get_gradient_edge(output) if output.requires_grad else None
                calls[name].append(_Use(into.detach(), output.shape, edge))
            else:  # another hook changed the output: matches nothing
                calls[name].append(_Use(torch.empty(0), torch.Size([0]), None))

        return note

    handles = [module.register_forward_hook(hook(name), with_kwargs=True) for name, module in layers.items()]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def fit(pairs: list[Pair], n: int) -> bool:
    """Whether each row of all inputs and outputs can be one example."""
    return all(part.dim() > 0 and len(part) == n for pair in pairs for part in pair)


def is_known(module: nn.Module) -> bool:
    """Whether the gradients of this kind of layer are implemented here: exactly this class, with plain weights."""
    own = {name for name, p in module.named_parameters(recurse=False) if p.is_floating_point()}
    if not {"weight"} <= own <= {"weight", "bias"} or "forward" in vars(module):
        return False
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        plain = module.padding_mode == "zeros" and not isinstance(module.padding, str)
        return type(module) in (nn.Conv1d, nn.Conv2d) and plain
    if isinstance(module, nn.Embedding):
        plain = module.max_norm is None and not module.scale_grad_by_freq and not module.sparse
        return type(module) is nn.Embedding and plain
    if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d) and module.running_mean is None:
        return False
    return type(module) is nn.Linear or type(module) in _NORMS


def row_of(module: nn.Module, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Gradients of a layer's parameters (batch x numbers), in the order of its pieces."""
    if bias is None:
        return weight
    if type(module) in _NORMS:
        return torch.cat([weight, bias], 1)
    return torch.cat([weight.reshape(*bias.shape, -1), bias.unsqueeze(2)], 2).flatten(1)


def pieces_of(module: nn.Module, pairs: list[Pair], room: tuple[Piece, ...] = ()) -> list[Piece]:
    """A layer's gradients from all its uses in one pass; those of a convolution are written to the room for them."""
    if type(module) in _NORMS:
        return [DenseRows(sum(_norm_rows(module, a, g) for a, g in pairs))]  # type: ignore[arg-type]
    if isinstance(module, nn.Embedding):
        return [_embedding(module, pairs)]
    groups = getattr(module, "groups", 1)
    return [_weights(module, pairs, groups, group, room[group] if room else None) for group in range(groups)]


def _weights(module: nn.Module, pairs: list[Pair], groups: int, group: int, room: Piece | None = None) -> Piece:
    """One group of a layer in the cheapest form: t^2 (in + out) multiplications by positions, in x out by rows."""
    slopes = [_slopes(module, g, groups, group) for _, g in pairs]
    t, high = sum(g.shape[2] for g in slopes), slopes[0].shape[1]
    wide = cast(Tensor, module.weight)[0].numel() + (module.bias is not None)
    as_rows = t > 1 and t * t * (wide + high) >= wide * high
    if as_rows and not isinstance(module, nn.Linear):
        given = [(image(module, a, groups, group), g) for (a, _), g in zip(pairs, slopes, strict=True)]
        return kernel_rows(module, given, room)
    a = torch.cat([_positions(module, a, groups, group) for a, _ in pairs], 1)
    g = torch.cat(slopes, 2)
    if module.bias is not None:
        a = torch.cat([a, a.new_ones(*a.shape[:2], 1)], 2)
    if t == 1:
        return Factors(a[:, 0].contiguous(), g[:, :, 0].contiguous())
    return DenseRows(torch.bmm(g, a).flatten(1)) if as_rows else Positions(a, g.transpose(1, 2).contiguous())


def _positions(module: nn.Module, a: Tensor, groups: int, group: int) -> Tensor:
    """Inputs as batch x positions x fan-in."""
    if isinstance(module, nn.Linear):
        return a.reshape(a.shape[0], -1, a.shape[-1])
    return functional.unfold(image(module, a, groups, group), *geometry(module)).transpose(1, 2)


def _slopes(module: nn.Module, g: Tensor, groups: int, group: int) -> Tensor:
    """Output gradients as batch x fan-out x positions."""
    if isinstance(module, nn.Linear):
        return g.reshape(g.shape[0], -1, g.shape[-1]).transpose(1, 2)
    wide = g.shape[1] // groups
    return g[:, group * wide : (group + 1) * wide].flatten(2)


def _norm_rows(module: nn.Module, a: Tensor, g: Tensor) -> Tensor:
    """Gradients of scale and shift, computed directly since they are small."""
    with torch.no_grad():
        if isinstance(module, nn.LayerNorm):
            plain = functional.layer_norm(a, module.normalized_shape, None, None, module.eps)
            over = tuple(range(1, a.dim() - len(module.normalized_shape)))
        elif isinstance(module, nn.GroupNorm):
            plain = functional.group_norm(a, module.num_groups, None, None, module.eps)
            over = tuple(range(2, a.dim()))
        else:
            norm = cast(nn.BatchNorm2d, module)
            plain = functional.batch_norm(a, norm.running_mean, norm.running_var, None, None, False, 0.0, norm.eps)
            over = tuple(range(2, a.dim()))
        last = over == tuple(range(2, a.dim())) and over
        parts = [
            torch.linalg.vecdot(g.flatten(2), plain.flatten(2))
            if last
            else (g * plain).sum(over)
            if over
            else g * plain
        ]
        if module.bias is not None:
            parts.append(g.sum(over) if over else g)
        return torch.cat([part.flatten(1) for part in parts], 1)


def _embedding(module: nn.Embedding, pairs: list[Pair]) -> Positions:
    """Tokens and the gradient of each; padding gets none, as in training."""
    tokens = torch.cat([a.reshape(a.shape[0], -1) for a, _ in pairs], 1)
    g = torch.cat([g.reshape(g.shape[0], -1, g.shape[-1]) for _, g in pairs], 1)
    if module.padding_idx is not None:
        g = g * (tokens != module.padding_idx).unsqueeze(2)
    return Positions(tokens, g, module.num_embeddings)
