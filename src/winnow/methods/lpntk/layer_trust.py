"""Which layers may go the short way: those for which it was tried on a few examples and gave what autograd gives.

A layer of a known kind can still be used so that its input and output gradient do not tell its weights' gradient: the
weights serve elsewhere too, a hook changes the output, or a row is not an example (sequences first, a table of places,
positions folded into the batch). None of this can be read off the layer. So a few examples go both ways, once a call,
in float64 where the network can, with weights of their own for the logits: what differs beyond rounding is not trusted.
"""

from __future__ import annotations

import copy
import warnings

import torch
from torch import nn

from ...core.errors import InputError
from .layers import LayerPlan, Pair, fit, is_known, passed, pieces_of, row_of
from .plain_gradients import alone, by_func, floating, forward

__all__ = ["note", "trusted"]

Tensor = torch.Tensor
Slopes = dict[str, Tensor]
_LOOKED_AT = 64  # examples among which different ones are sought


def trusted(owner: str, model: nn.Module, inputs: Tensor) -> LayerPlan:
    """The plan for a network in eval mode and the inputs it will get, made on two or three of them.

    Parameters
    ----------
    owner
        The public function that asks, for refusals: of a network that fails, or that mixes examples.
    model
        The network.
    inputs
        All inputs.
    """
    x = _probes(inputs)
    net, x = _precise(owner, model, x)
    with torch.no_grad():
        together = forward(owner, net, x)
    draw = torch.Generator().manual_seed(0)
    weights = torch.randn(together.shape, generator=draw, dtype=together.dtype)
    logits, slopes, used = alone(owner, net, floating(net), x, weights)
    _refuse_mixing(owner, logits, together)
    known = _own_weights(net)
    _, _, pairs = passed(owner, net, known, x, lambda _logits: weights)
    floor = max((_largest(rows) for rows in slopes.values()), default=0.0) * torch.finfo(logits.dtype).eps
    short = {}
    for name, module in known.items():
        names = [f"{name}.{part}" if name else part for part, _ in module.named_parameters(recurse=False)]
        if not pairs[name] and used.isdisjoint(names):
            short[name] = 0
        elif pairs[name] and _short_way_holds(module, pairs[name], [slopes[part] for part in names], len(x), floor):
            short[name] = len(pairs[name])
    plan = LayerPlan(owner, short, False)
    return LayerPlan(owner, short, not _func_works(net, plan.long(net), x, weights, slopes, floor))


def note(plan: LayerPlan, model: nn.Module) -> None:
    """Warn about what goes the long way; to be called by what a public function calls."""
    long = plan.long(model)
    if long:
        some = ", ".join(long[:3]) + (", ..." if len(long) > 3 else "")
        how = "one example at a time" if plan.loop else "by torch.func"
        warnings.warn(
            f"{len(long)} parameter(s) belong to layers that lpntk has no short way for ({some}); their gradients are "
            f"computed {how}, which is as exact and slower.",
            stacklevel=4,
        )


def _probes(inputs: Tensor) -> Tensor:
    """A few examples, different if there are such, and not as many as an example is long in any direction."""
    wanted = min(len(inputs), 2 if 3 in inputs.shape[1:] else 3)
    order = torch.linspace(0, len(inputs) - 1, min(len(inputs), _LOOKED_AT)).long().tolist()
    chosen: list[int] = []
    for i in order:
        if len(chosen) < wanted and not any(torch.equal(inputs[i], inputs[j]) for j in chosen):
            chosen.append(i)
    chosen += [i for i in order if i not in chosen][: wanted - len(chosen)]
    return inputs[chosen]


def _precise(owner: str, model: nn.Module, x: Tensor) -> tuple[nn.Module, Tensor]:
    """A copy in float64, in which no rounding passes for an error, unless the network insists on its precision."""
    if all(p.dtype == torch.float64 for p in model.parameters() if p.is_floating_point()):
        return model, x
    net, wide = copy.deepcopy(model).double(), x.double() if x.is_floating_point() else x
    try:
        with torch.no_grad():
            given = forward(owner, net, wide)
    except InputError:
        return model, x
    return (net, wide) if given.dtype == torch.float64 else (model, x)


def _refuse_mixing(owner: str, logits: Tensor, together: Tensor) -> None:
    if logits.shape != together.shape:
        raise InputError(
            f"model of {owner} must give one row of logits an example; got shape {tuple(together.shape)} for "
            f"{len(logits)} examples."
        )
    if not _agree(together, logits, 0.0):
        apart = (together - logits).abs().max()
        raise InputError(
            f"model of {owner} must give an example the same logits alone and among others in eval mode; they differ "
            f"by {apart:.2g} (batch normalisation without running statistics and random layers do that)."
        )


def _own_weights(model: nn.Module) -> dict[str, nn.Module]:
    """Layers of a known kind, by name, whose parameters no other module holds."""
    owners: dict[int, int] = {}
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    return {
        name: module
        for name, module in model.named_modules()
        if is_known(module) and all(owners[id(p)] == 1 for p in module.parameters(recurse=False))
    }


def _short_way_holds(module: nn.Module, pairs: list[Pair], slopes: list[Tensor], n: int, floor: float) -> bool:
    """Whether a layer's pieces are the gradients that autograd gives."""
    if not fit(pairs, n):
        return False
    expected = row_of(module, slopes[0], slopes[1] if len(slopes) > 1 else None)
    try:
        found = torch.cat([piece.dense() for piece in pieces_of(module, pairs)], 1)
    except (RuntimeError, IndexError, ValueError):  # inputs of a form that the short way does not know
        return False
    return found.shape == expected.shape and _agree(found, expected, floor)


def _func_works(net: nn.Module, names: list[str], x: Tensor, weights: Tensor, slopes: Slopes, floor: float) -> bool:
    if not names:
        return True
    try:
        found = by_func(net, names, x, weights)
    except Exception:  # torch.func traces the caller's own code, which may raise anything
        return False
    return all(_agree(found[name], slopes[name], floor) for name in names)


def _agree(found: Tensor, expected: Tensor, floor: float) -> bool:
    """Equal to half the digits, of the largest number; what is not finite is refused later, in the kernel."""
    allowed = _largest(expected) * torch.finfo(expected.dtype).eps ** 0.5 + floor
    near = (found - expected).abs() <= allowed
    return bool((near | ~(found.isfinite() | expected.isfinite())).all())


def _largest(values: Tensor) -> float:
    return float(values.nan_to_num(0.0, 0.0, 0.0).abs().max()) if values.numel() else 0.0
