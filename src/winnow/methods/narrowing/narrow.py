"""`narrow`: a network with fewer hidden neurons that computes and trains like the wide one."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from ...core import checks, seeds
from ...core.errors import InputError, NotDefinedError
from ...models import eval_mode
from .layer_pairs import Found, Pair, find_pairs, known_layers, matching
from .narrowed import Narrowed, NarrowedPair
from .neuron_choice import choose, objects
from .steps import Refused
from .surgery import DROPOUT, copied, settle_dropout, shrink

__all__ = ["narrow"]

Width = int | float | Mapping[str, int | float]
Example = Tensor | tuple[Tensor, ...]
OWNER = "narrow"
DRAWS = 5  # random sub-networks that the result is compared with


def narrow(
    model: nn.Module,
    width: Width,
    order: int | None = None,
    *,
    layers: Sequence[str] | None = None,
    dims: int | str | None = "auto",
    dropout: str = "refuse",
    example: Example | None = None,
    gradients: str = "counted",
    seed: int = 0,
) -> nn.Module:
    """Make hidden vectors narrower so that the network computes and trains like the wide one.

    The neurons of a hidden vector are treated as points (incoming weights, bias, outgoing weights; with a batch norm
    also its scale, shift and running statistics). Moment matching
    keeps some of them and gives each a count, the number of neurons it represents. The count multiplies the neuron's
    output and divides the gradients of its incoming weights, bias and outgoing weights. So any optimiser that works
    coordinate by coordinate (SGD with momentum, Adam, AdamW; with weight decay too) moves it as it would move each
    neuron it represents. Operations on all gradients together, such as clipping by their total norm, see fewer of
    them than in the wide network.

    The result is the same kind of module; `state_dict`, `deepcopy`, `to` and repeated `backward` calls work as before.
    `fold` turns it into a plain network for export and `restore` rebuilds it from saved weights. Its attribute
    `narrowed` is a `Narrowed`: what was narrowed, by how much, and how well.

    Parameters
    ----------
    model
        A network of linear layers or convolutions with activations in between; it is not changed. Pairs of layers are
        found by tracing it, and in the feed-forward blocks of torch's transformer layers by their class; see
        `find_pairs`. A norm other than a batch norm, a residual or a second reader of the hidden vector excludes a
        pair.
    width
        Neurons to keep: a count for every hidden vector, a fraction, or either per name of its first layer. Vectors
        that are no wider than this are not changed.
    order
        Highest order of the moments to match. If not given, the one that `winnow.moments.advise` suggests for the
        neurons, the directions, the width and the activation, but 2 rather than 1 where it fits.
    layers
        Names of the first layers of the pairs to narrow, or patterns of names; if not given, all that can be narrowed.
    dims
        Match moments only in this many directions, those in which neurons differ most. `auto` takes as many as the
        width allows at the order given, or at order 2. For wide layers that is not all of them, since order 1 alone
        needs one neuron more than there are directions. None takes all, or raises if they do not fit. The share of the
        spread that was matched is `spread_kept` in the certificate. Where it is small, as in a wide network that was
        not trained, random neurons may do as well; `example` shows this.
    dropout
        What to do about a dropout between the two layers, which would drop all neurons that one represents at once:
        `refuse` the pair, `keep` the dropout and its larger noise, or turn it `off`. In `eval` mode there is no
        difference.
    example
        Inputs on which to measure the change of the outputs, as the model takes them.
    gradients
        `counted`, or `plain` to leave the gradients undivided, for comparison.
    seed
        Seed of everything random, such as the sub-networks that the outputs on `example` are compared with.

    Returns
    -------
    torch.nn.Module
        The narrow network, a copy.

    Raises
    ------
    InputError
        If an argument is out of range, or the width is too small for the moments.
    UnknownNameError
        If a name in `layers` or `width` matches no layer.
    NotDefinedError
        If nothing can be narrowed, or a named layer cannot.

    Examples
    --------
    >>> wide = nn.Sequential(nn.Linear(2, 400), nn.Tanh(), nn.Linear(400, 1))
    >>> net = narrow(wide, 40, order=2)
    >>> net[0].out_features <= 40, round(float(net[2].counts.sum()))
    (True, 400)
    """
    _check(order, dims, dropout, gradients, seed)
    found = find_pairs(model, _names(model, width, layers))
    net = copied(model, OWNER)
    certificates: list[NarrowedPair] = []
    left: dict[str, str] = {}
    asked = layers is not None or isinstance(width, Mapping)
    for pair, count in _widths(model, width, found):
        if count >= pair.width:
            left[pair.first] = f"it is {pair.width} wide already"
            continue
        try:
            settle_dropout(net, pair, dropout)
        except Refused as reason:
            if asked:
                raise NotDefinedError(f"layer {pair.first!r} cannot be narrowed: {reason}.") from None
            left[pair.first] = str(reason)
            continue
        number = seeds.number(seed, "narrow", pair.first)
        certificates.append(_narrow_one(net, pair, count, order, dims, gradients == "counted", number))
    left |= found.refused
    if not certificates:
        raise NotDefinedError(f"model of narrow has nothing to narrow: {_why(left)}.")
    sizes = [sum(value.numel() for value in each.parameters()) for each in (model, net)]
    certificate = Narrowed(tuple(certificates), left, sizes[0], sizes[1])
    if example is not None:
        changes = _change(model, [net], example), _change(model, _at_random(model, found, certificate, seed), example)
        certificate = replace(certificate, output_change=changes[0], random_change=changes[1])
    object.__setattr__(net, "narrowed", certificate)  # plain data, past torch's own way to set attributes
    return net


def _why(left: Mapping[str, str]) -> str:
    """Join the first few reasons; layers with the same reason are named together."""
    layers: dict[str, list[str]] = {}
    for name, reason in left.items():
        layers.setdefault(reason, []).append(repr(name) if name else "the model")
    said = [f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}: {why}" for why, names in layers.items()]
    more = f" (and {len(said) - 3} more reasons)" if len(said) > 3 else ""
    return ("; ".join(said[:3]) + more) or "it has no two layers with an activation in between"


def _check(order: object, dims: object, dropout: object, gradients: object, seed: object) -> None:
    if order is not None:
        checks.integer("order", OWNER, order, low=1)
    if isinstance(dims, str):
        checks.choice("dims", OWNER, dims, ("auto",))
    elif dims is not None:
        checks.integer("dims", OWNER, dims, low=1)
    checks.choice("dropout", OWNER, dropout, DROPOUT)
    checks.choice("gradients", OWNER, gradients, ("counted", "plain"))
    checks.integer("seed", OWNER, seed, low=0)


def _names(model: nn.Module, width: object, layers: Sequence[str] | None) -> Sequence[str] | None:
    """The first layers requested by name, if any."""
    if isinstance(width, Mapping) and isinstance(model, nn.Module):
        if layers is not None:
            raise InputError("layers of narrow must not be given if width names the layers.")
        if not width:
            raise InputError("width of narrow must name at least one layer; got an empty mapping.")
        if not all(isinstance(name, str) for name in width):
            raise InputError(f"width of narrow must be keyed by layer names, which are strings; got {list(width)!r}.")
        return matching("width of narrow", list(width), known_layers(model))
    return layers


def _widths(model: nn.Module, width: object, found: Found) -> list[tuple[Pair, int]]:
    """The number of neurons each pair keeps."""
    if not isinstance(width, Mapping):
        return [(pair, _count(width, pair.width, "")) for pair in found.pairs]
    known = known_layers(model)
    by_name = {name: value for key, value in width.items() for name in matching("width of narrow", [key], known)}
    return [(pair, _count(by_name[pair.first], pair.width, f"[{pair.first!r}]")) for pair in found.pairs]


def _count(width: object, before: int, where: str) -> int:
    if isinstance(width, numbers.Real) and not isinstance(width, numbers.Integral):
        return max(1, round(checks.fraction(f"width{where}", OWNER, width) * before))
    return checks.integer(f"width{where}", OWNER, width, low=1)


def _narrow_one(
    net: nn.Module, pair: Pair, count: int, order: int | None, dims: int | str | None, shared: bool, seed: int
) -> NarrowedPair:
    """Narrow one pair in place; its neurons already include earlier narrowing."""
    neurons = objects(*map(net.get_submodule, (pair.first, pair.second, *pair.norms)))
    checks.finite(f"weights around {pair.first!r}", "the model", neurons.held)
    choice = choose(neurons, count, order, dims, pair.smooth, seed, pair.first)
    shrink(
        net, pair, torch.from_numpy(np.ascontiguousarray(choice.kept)), torch.from_numpy(choice.counts), shared=shared
    )
    return NarrowedPair(
        pair.first,
        pair.second,
        pair.width,
        len(choice.kept),
        choice.order,
        choice.coordinates,
        choice.dims,
        choice.spread_kept,
        choice.moment_error,
        float(choice.counts.max()),
    )


def _at_random(model: nn.Module, found: Found, certificate: Narrowed, seed: int) -> list[nn.Module]:
    """Random sub-networks of the same widths, with equal counts: the baseline for any choice of neurons."""
    made = []
    for draw in range(DRAWS):
        net = copied(model, OWNER)
        for done in certificate.pairs:
            pair = next(one for one in found.pairs if one.first == done.first)
            rng = seeds.stream(seed, "random sub-network", draw, pair.first)
            kept = torch.from_numpy(np.sort(rng.choice(done.before, done.after, replace=False)))
            shrink(net, pair, kept, torch.full((done.after,), done.before / done.after), shared=True)
        made.append(net)
    return made


def _change(model: nn.Module, nets: list[nn.Module], example: Example) -> float:
    """Root mean square change of the outputs, relative to that of the outputs."""
    inputs = example if isinstance(example, tuple) else (example,)
    total = 0.0
    with torch.no_grad(), eval_mode(model):
        before = _output(model, inputs)
        for net in nets:
            with eval_mode(net):
                total += float((_output(net, inputs) - before).double().square().mean()) / len(nets)
    size = float(before.double().square().mean())
    return math.sqrt(total / size) if size > 0 else math.nan


def _output(model: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    try:
        output = model(*inputs)
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"example of narrow must be inputs that the model takes; the model says: {why}.") from None
    if not isinstance(output, Tensor):
        raise InputError(f"example of narrow needs a model whose output is a tensor; got {type(output).__name__}.")
    return output
