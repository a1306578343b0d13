"""One backward pass, layer by layer: the gradients of single examples, kept as the factors they are made of.

In eval mode examples do not touch each other, so one backward pass of the sum over a batch of v(x) . z(x) leaves at
every layer the output gradient g of each example, beside its input a. The gradient of that example with respect to the
layer's weights is a sum over positions (one for a plain layer, the pixels of a convolution, the tokens of a sequence)
of g a^T, and is hardly ever needed itself: inner products of two such sums follow from a . a' and g . g'.

    Factors     a and g of the one position an example has            (a . a') (g . g')
    Positions   a and g of several positions, where they are few      sum over pairs of positions of (a . a') (g . g')
    Rows        one dense row an example                              convolutions, norms, the rest

A layer of a kind that is not known here, or whose weights are used elsewhere too, is differentiated by torch.func,
parameter by parameter; `Capture.fallen_back` names it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

__all__ = ["Capture", "Factors", "Positions", "Rows", "capture"]

Tensor = torch.Tensor
CHUNK = 1 << 24  # numbers of a product of positions held at once
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm)
_BYPASSING = (nn.MultiheadAttention,)  # uses the weights of the layer inside it without calling that layer


@dataclass(frozen=True)
class Rows:
    """Gradients of a batch as dense rows."""

    rows: Tensor

    def gram(self, other: Rows) -> Tensor:
        """Inner products of all pairs."""
        return self.rows @ other.rows.T

    def dense(self) -> Tensor:
        """The rows themselves."""
        return self.rows

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.rows.numel()


@dataclass(frozen=True)
class Factors:
    """Gradients of a batch as inputs (batch x in) and output gradients (batch x out), one position an example."""

    inputs: Tensor
    outputs: Tensor

    def gram(self, other: Factors) -> Tensor:
        """Inner products of all pairs: (a . a') (g . g')."""
        return (self.inputs @ other.inputs.T).mul_(self.outputs @ other.outputs.T)

    def dense(self) -> Tensor:
        """The gradients as rows."""
        return torch.einsum("bo,bi->boi", self.outputs, self.inputs).flatten(1)

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.inputs.numel() + self.outputs.numel()


@dataclass(frozen=True)
class Positions:
    """Gradients of a batch as inputs (batch x positions x in) and output gradients (batch x positions x out).

    Of an embedding the inputs are tokens (batch x positions), each standing for a unit vector of length `table`.
    """

    inputs: Tensor
    outputs: Tensor
    table: int = 0

    def gram(self, other: Positions) -> Tensor:
        """Inner products of all pairs, a few examples at a time: products of all positions are held of those alone."""
        (n, t), (m, u) = self.inputs.shape[:2], other.inputs.shape[:2]
        out = self.outputs.new_empty(n, m)
        a, g = other.inputs.flatten(0, 1), other.outputs.flatten(0, 1)
        step = max(1, CHUNK // (t * m * u))
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            mine = self.inputs[part].flatten(0, 1)
            both = mine[:, None] == a[None] if self.table else mine @ a.T
            total = (self.outputs[part].flatten(0, 1) @ g.T).mul_(both)
            out[part] = total.view(part.stop - first, t, m, u).sum((1, 3))
        return out

    def dense(self) -> Tensor:
        """The gradients as rows."""
        if not self.table:
            return torch.bmm(self.outputs.transpose(1, 2), self.inputs).flatten(1)
        rows = self.outputs.new_zeros(len(self.outputs), self.table, self.outputs.shape[2])
        return rows.scatter_add_(1, self.inputs.unsqueeze(2).expand_as(self.outputs), self.outputs).flatten(1)

    def numbers(self) -> int:
        """How many numbers are held."""
        return self.inputs.numel() + self.outputs.numel()


Piece = Rows | Factors | Positions


@dataclass(frozen=True)
class Capture:
    """The gradients of a batch: pieces in the order of the network's layers, and what had to be done the long way."""

    pieces: tuple[Piece, ...]
    logits: Tensor
    fallen_back: tuple[str, ...]

    def gram(self, other: Capture) -> Tensor:
        """Inner products of all pairs of examples of two batches."""
        total = self.logits.new_zeros(len(self.logits), len(other.logits))
        for mine, theirs in zip(self.pieces, other.pieces, strict=True):
            total += mine.gram(cast(Any, theirs))
        return total


@dataclass(frozen=True)
class _Call:
    """One use of a layer: what went in and what came out."""

    inputs: Tensor
    outputs: Tensor


def capture(model: nn.Module, x: Tensor, signs: Callable[[Tensor], Tensor]) -> Capture:
    """Differentiate signs(z) . z for every example of a batch, with `signs` (batch x classes) held constant.

    Parameters
    ----------
    model
        A network in eval mode.
    x
        A batch of inputs.
    signs
        From logits to the weights of the logits.
    """
    known, unknown = _sorted_out(model)
    with _grad_enabled(model), _watched(known) as calls:
        logits = model(x)
        weights = signs(logits.detach())
        used = [(name, module, calls[name]) for name, module in known.items() if name in calls]
        outputs = [call.outputs for _, _, found in used for call in found]
        total = (logits * weights).sum()
        slopes = torch.autograd.grad(total, outputs, allow_unused=True) if outputs else ()
    pieces: list[Piece] = []
    given = iter(slopes)
    for _, module, found in used:
        pairs = [(call.inputs, next(given)) for call in found]
        pieces += _pieces(module, [(a.detach(), torch.zeros_like(_shaped(module, a)) if g is None else g.detach())
                                   for a, g in pairs])  # fmt: skip
    rest = {name: p for name, p in model.named_parameters() if name in unknown}
    if rest:
        pieces.append(Rows(_by_func(model, rest, x, weights)))
    return Capture(tuple(pieces), logits.detach(), tuple(sorted(unknown)))


def _shaped(module: nn.Module, a: Tensor) -> Tensor:
    """An output of the right shape, for a layer whose output the logits do not depend on."""
    with torch.no_grad():
        return cast(Tensor, module(a))


def _sorted_out(model: nn.Module) -> tuple[dict[str, nn.Module], set[str]]:
    """Layers that are known here, by name, and the names of the parameters of all others."""
    owners: dict[int, int] = {}
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    known, unknown = {}, set()
    bypassed = [name for name, module in model.named_modules() if isinstance(module, _BYPASSING)]
    for name, module in model.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if not own:
            continue
        inside = any(name == outer or name.startswith(f"{outer}.") for outer in bypassed)
        if _is_known(module) and not inside and all(owners[id(p)] == 1 for p in own.values()):
            known[name] = module
        else:
            unknown |= {f"{name}.{part}" if name else part for part in own}
    listed = {name for name, _ in model.named_parameters()}  # a shared parameter is listed once, by its first name
    return known, unknown & listed


def _is_known(module: nn.Module) -> bool:
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        return module.padding_mode == "zeros" and not isinstance(module.padding, str)
    if isinstance(module, nn.Embedding):
        return module.max_norm is None and not module.scale_grad_by_freq and not module.sparse
    return type(module) is nn.Linear or isinstance(module, _NORMS)


@contextmanager
def _grad_enabled(model: nn.Module) -> Iterator[None]:
    """Let every parameter be differentiated, as they were before afterwards."""
    before = [(p, p.requires_grad) for p in model.parameters()]
    for p, _ in before:
        p.requires_grad_(p.is_floating_point())
    try:
        with torch.enable_grad():
            yield
    finally:
        for p, was in before:
            p.requires_grad_(was)


@contextmanager
def _watched(known: dict[str, nn.Module]) -> Iterator[dict[str, list[_Call]]]:
    """Note inputs and outputs of every known layer; what follows gets a copy, so that nothing overwrites the note."""
    calls: dict[str, list[_Call]] = {}

    def hook(name: str) -> Callable[..., Tensor]:
        def note(_module: nn.Module, given: tuple[Any, ...], output: Tensor) -> Tensor:
            calls.setdefault(name, []).append(_Call(given[0], output))
            return output.clone()

        return note

    handles = [module.register_forward_hook(hook(name)) for name, module in known.items()]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _pieces(module: nn.Module, pairs: list[tuple[Tensor, Tensor]]) -> list[Piece]:
    """A layer's gradients from all its uses in one pass."""
    if isinstance(module, _NORMS):
        return [Rows(sum(_norm_rows(module, a, g) for a, g in pairs))]  # type: ignore[arg-type]
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
    """What an inner product costs least with: t^2 (in + out) multiplications by positions, in x out by rows."""
    t, wide, high = a.shape[1], a.shape[2], g.shape[2]
    if t == 1:
        return Factors(a[:, 0].contiguous(), g[:, 0].contiguous())
    if t * t * (wide + high) < wide * high:
        return Positions(a.contiguous(), g.contiguous())
    return Rows(torch.bmm(g.transpose(1, 2), a).flatten(1))


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
    """Gradients of scale and shift: small, so taken directly."""
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


def _embedding(module: nn.Embedding, pairs: list[tuple[Tensor, Tensor]]) -> Positions:
    """Tokens and what came back to each; padding gets nothing, as in training."""
    tokens = torch.cat([a.reshape(a.shape[0], -1) for a, _ in pairs], 1)
    g = torch.cat([g.reshape(g.shape[0], -1, g.shape[-1]) for _, g in pairs], 1)
    if module.padding_idx is not None:
        g = g * (tokens != module.padding_idx).unsqueeze(2)
    return Positions(tokens, g, module.num_embeddings)


def _by_func(model: nn.Module, rest: dict[str, nn.Parameter], x: Tensor, weights: Tensor) -> Tensor:
    """Gradients of single examples with respect to some parameters, by torch.func."""
    chosen = {name: p.detach() for name, p in rest.items()}
    others: dict[str, Any] = {name: p.detach() for name, p in model.named_parameters() if name not in rest}
    others |= dict(model.named_buffers())

    def signed(some: dict[str, Tensor], one: Tensor, weight: Tensor) -> Tensor:
        logits: Tensor = functional_call(model, {**some, **others}, (one.unsqueeze(0),))[0]
        return (logits * weight).sum()

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")  # said once, in our own note
        found: Any = vmap(grad(signed), in_dims=(None, 0, 0))(chosen, x, weights)
    rows: Tensor = torch.cat([found[name].flatten(1) for name in chosen], 1)
    return rows
