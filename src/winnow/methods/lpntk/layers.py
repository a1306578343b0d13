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

from .gradient_factors import Capture, DenseRows, Factors, Piece, Positions
from .plain_gradients import alone, by_func, floating, forward, grad_enabled

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


def capture(model: nn.Module, x: Tensor, signs: Callable[[Tensor], Tensor], plan: LayerPlan) -> Capture:
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
    """
    layers = {name: module for name, module in model.named_modules() if name in plan.short}
    logits, weights, pairs = passed(plan.owner, model, layers, x, signs)
    unlike = {name for name, uses in plan.short.items() if len(pairs[name]) != uses or not fit(pairs[name], len(x))}
    if unlike:
        raise UnlikePlan(unlike)
    pieces: list[Piece] = []
    for name, uses in plan.short.items():
        if uses:
            pieces += pieces_of(layers[name], pairs[name])
    rest = plan.long(model)
    if rest:
        found = alone(plan.owner, model, rest, x, weights)[1] if plan.loop else by_func(model, rest, x, weights)
        pieces.append(DenseRows(torch.cat(list(found.values()), 1)))
    return Capture(tuple(pieces), logits)


def passed(
    owner: str, model: nn.Module, layers: dict[str, nn.Module], x: Tensor, signs: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, dict[str, list[Pair]]]:
    """Return the logits, their weights, and for each layer and use the input and the gradient of the output."""
    with grad_enabled(model), _watched(layers) as calls:
        logits = forward(owner, model, x)
        weights = signs(logits.detach())
        total = (logits * weights).sum()
        reached = [output for found in calls.values() for _, output in found if output.requires_grad]
        slopes = torch.autograd.grad(total, reached, allow_unused=True) if reached and total.requires_grad else ()
    back = {id(output): slope for output, slope in zip(reached, slopes, strict=False) if slope is not None}
    pairs = {
        name: [(given.detach(), back.get(id(output), torch.zeros_like(output)).detach()) for given, output in found]
        for name, found in calls.items()
    }
    return logits.detach(), weights, pairs


@contextmanager
def _watched(layers: dict[str, nn.Module]) -> Iterator[dict[str, list[Pair]]]:
    """Record inputs and outputs of layers; later layers get a copy, so that nothing overwrites the record."""
    calls: dict[str, list[Pair]] = {name: [] for name in layers}

    def hook(name: str) -> Callable[..., Tensor]:
        def note(_module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> Tensor:
            into = given[0] if given else named.get("input")
            if isinstance(into, Tensor) and isinstance(output, Tensor):
                calls[name].append((into, output))
                return output.clone()
            calls[name].append((torch.empty(0), torch.empty(0)))  # another hook changed the output: matches nothing
            return output

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


def pieces_of(module: nn.Module, pairs: list[Pair]) -> list[Piece]:
    """A layer's gradients from all its uses in one pass."""
    if type(module) in _NORMS:
        return [DenseRows(sum(_norm_rows(module, a, g) for a, g in pairs))]  # type: ignore[arg-type]
    if isinstance(module, nn.Embedding):
        return [_embedding(module, pairs)]
    out: list[Piece] = []
    groups = getattr(module, "groups", 1)
    for group in range(groups):
        a = torch.cat([_positions(module, a, groups, group) for a, _ in pairs], 1)
        g = torch.cat([_slopes(module, g, groups, group) for _, g in pairs], 1)
        if module.bias is not None:
            a = torch.cat([a, a.new_ones(*a.shape[:2], 1)], 2)
        out.append(_cheapest(a, g))
    return out


def _cheapest(a: Tensor, g: Tensor) -> Piece:
    """The cheapest form for an inner product: t^2 (in + out) multiplications by positions, in x out by rows."""
    t, wide, high = a.shape[1], a.shape[2], g.shape[2]
    if t == 1:
        return Factors(a[:, 0].contiguous(), g[:, 0].contiguous())
    if t * t * (wide + high) < wide * high:
        return Positions(a.contiguous(), g.contiguous())
    return DenseRows(torch.bmm(g.transpose(1, 2), a).flatten(1))


def _positions(module: nn.Module, a: Tensor, groups: int, group: int) -> Tensor:
    """Inputs as batch x positions x fan-in."""
    if isinstance(module, nn.Linear):
        return a.reshape(a.shape[0], -1, a.shape[-1])
    conv = cast(Any, module)
    wide = a.shape[1] // groups
    a = a[:, group * wide : (group + 1) * wide]
    flat = isinstance(module, nn.Conv1d)  # a signal is an image one pixel high
    size, dilation, pad, stride = (
        ((fill, *given) if flat else tuple(given))
        for fill, given in ((1, conv.kernel_size), (1, conv.dilation), (0, conv.padding), (1, conv.stride))
    )
    return functional.unfold(a.unsqueeze(2) if flat else a, size, dilation, pad, stride).transpose(1, 2)


def _slopes(module: nn.Module, g: Tensor, groups: int, group: int) -> Tensor:
    """Output gradients as batch x positions x fan-out."""
    if isinstance(module, nn.Linear):
        return g.reshape(g.shape[0], -1, g.shape[-1])
    wide = g.shape[1] // groups
    return g[:, group * wide : (group + 1) * wide].flatten(2).transpose(1, 2)


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
        parts = [(g * plain).sum(over) if over else g * plain]
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
