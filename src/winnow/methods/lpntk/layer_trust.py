"""Which layers may take the fast path: those where, on a few examples, it gives the same gradients as autograd.

A layer of a known kind can still be used in a way that its input and output gradient do not determine its weights'
gradient: the weights are used elsewhere too, a hook changes the output, or a row is not an example (sequence-first
layout, a table of positions, positions folded into the batch). The layer itself does not show this. So each call
computes the gradients of a few examples both ways, in float64 where the network allows it, with random weights for the
logits. Layers that differ beyond rounding take the slow path.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import torch
from torch import nn

from ...core.errors import InputError
from .kernel_inputs import KernelInputs
from .layers import LayerPlan, Pair, UnlikePlan, fit, is_known, passed, pieces_of, row_of
from .plain_gradients import alone, by_func, floating, forward

__all__ = ["by_plan", "planned", "trusted"]

Tensor = torch.Tensor
Slopes = dict[str, Tensor]
_LOOKED_AT = 64  # examples searched for different ones


def planned(owner: str, first: KernelInputs, second: KernelInputs | None = None) -> LayerPlan:
    """Find which layers have the fast path for all inputs, and warn about the others."""
    plan = trusted(owner, first.net, first.inputs)
    if second is not None:
        plan = plan.meet(trusted(owner, second.net, second.inputs))
    _note(plan, first.net)
    return plan


def by_plan(net: nn.Module, plan: LayerPlan, work: Callable[[LayerPlan], None]) -> None:
    """Do the work; start again if a batch uses layers differently from those tried."""
    while True:
        try:
            return work(plan)
        except UnlikePlan as found:
            plan = plan.without(found.layers)
            _note(plan, net)


def trusted(owner: str, model: nn.Module, inputs: Tensor) -> LayerPlan:
    """Make the plan for a network in eval mode and its inputs, by trying two or three of them.

    Parameters
    ----------
    owner
        The calling public function, named in errors: a network that fails, or that mixes examples.
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


def _note(plan: LayerPlan, model: nn.Module) -> None:
    """Warn about layers on the slow path, at the line that called the public function that asked for the plan."""
    long = plan.long(model)
    if long:
        some = ", ".join(long[:3]) + (", ..." if len(long) > 3 else "")
        how = "one example at a time" if plan.loop else "by torch.func"
        warnings.warn(
            f"{len(long)} parameter(s) belong to layers without a fast path in lpntk ({some}); their gradients are "
            f"computed {how}, which is exact but slower.",
            stacklevel=4,
        )


def _probes(inputs: Tensor) -> Tensor:
    """A few examples, different if possible, and a number of them that equals no dimension of an example."""
    wanted = min(len(inputs), 2 if 3 in inputs.shape[1:] else 3)
    order = torch.linspace(0, len(inputs) - 1, min(len(inputs), _LOOKED_AT)).long().tolist()
    chosen: list[int] = []
    for i in order:
        if len(chosen) < wanted and not any(torch.equal(inputs[i], inputs[j]) for j in chosen):
            chosen.append(i)
    chosen += [i for i in order if i not in chosen][: wanted - len(chosen)]
    return inputs[chosen]


def _precise(owner: str, model: nn.Module, x: Tensor) -> tuple[nn.Module, Tensor]:
    """A copy in float64, so that rounding is not mistaken for an error; the original precision if that fails."""
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
            f"model of {owner} must give one row of logits per example; got shape {tuple(together.shape)} for "
            f"{len(logits)} examples."
        )
    if not _agree(together, logits, 0.0):
        apart = (together - logits).abs().max()
        raise InputError(
            f"model of {owner} must give an example the same logits alone and in a batch in eval mode; they differ "
            f"by {apart:.2g} (batch normalisation without running statistics and random layers cause this)."
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
    """Whether a layer's pieces equal the gradients from autograd."""
    if not fit(pairs, n):
        return False
    expected = row_of(module, slopes[0], slopes[1] if len(slopes) > 1 else None)
    try:
        found = torch.cat([piece.dense() for piece in pieces_of(module, pairs)], 1)
    except (RuntimeError, IndexError, ValueError):  # inputs in a form that the fast path does not handle
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
    """Equal to half the digits of the largest number; the kernel checks later for values that are not finite."""
    allowed = _largest(expected) * torch.finfo(expected.dtype).eps ** 0.5 + floor
    near = (found - expected).abs() <= allowed
    return bool((near | ~(found.isfinite() | expected.isfinite())).all())


def _largest(values: Tensor) -> float:
    return float(values.nan_to_num(0.0, 0.0, 0.0).abs().max()) if values.numel() else 0.0
