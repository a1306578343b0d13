"""Choose which neurons stay and how many each represents, by moment matching on the neurons of one hidden vector.

A neuron is a point: its incoming weights and bias, behind the batch norm if there is one, and its outgoing weights. The
scale of the coordinates decides where cells are cut and which directions `dims` keeps (the moments of a cell do not
depend on it), so they are put on one scale. Incoming weights and bias together are divided by the root of their mean
squared distance from the average neuron, and so are the outgoing weights. Input and output of a neuron then count the
same, and within each half the network's own units stay. A coordinate of a neuron that represents c others counts c
times, as those would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...core.errors import InputError
from ..moments import advise, compress, feasible_size, moment_error
from ..moments.principal import principal
from .counted_layers import CountedLayer
from .counted_norms import norm_rows, through_norm

__all__ = ["NeuronChoice", "Neurons", "choose", "incoming", "objects", "outgoing"]

Array = NDArray[np.float64]

# A neuron's contribution is its outgoing weight times a function of the incoming ones: first moments miss the product.
SECOND = 2


@dataclass(frozen=True, eq=False)
class Neurons:
    """The neurons of one hidden vector, one row each.

    Attributes
    ----------
    points
        The coordinates whose moments are matched, on one scale.
    held
        Everything a neuron holds; neurons that agree in it are copies of each other and train alike.
    """

    points: Array
    held: Array


def objects(first: nn.Module, second: nn.Module, *norms: nn.Module) -> Neurons:
    """The neurons between two layers.

    With a batch norm in between, a neuron's point has the incoming weights and the bias as they are behind the norm:
    weights that a scale makes small matter little, however large they are.
    """
    raw, out = incoming(first), outgoing(first, second)
    held = [_numbers(rows) for rows in (raw, out, *map(norm_rows, norms))]
    if norms:
        weight, bias = (
            (raw[:, :-1], raw[:, -1]) if isinstance(first.bias, Tensor) else (raw, torch.zeros_like(raw[:, 0]))
        )
        for norm in norms:
            weight, bias = through_norm(weight, bias, norm)
        raw = torch.cat([weight, bias[:, None]], 1)
    return Neurons(np.hstack([_scaled(_numbers(raw)), _scaled(_numbers(out))]), np.hstack(held))


def incoming(first: nn.Module) -> Tensor:
    """Incoming weights and bias, one row per neuron; narrowed inputs count as often as the neurons they represent."""
    weight = _weight(first)
    rows = weight.detach().double()
    if isinstance(first, CountedLayer) and first.counts is not None:
        each = first.counts.double().sqrt().repeat_interleave(weight.shape[1] // first.counts.numel())
        rows = rows * each.view(1, -1, *[1] * (rows.dim() - 2))
    parts = [rows.flatten(1)]
    if isinstance(first.bias, Tensor):
        parts.append(first.bias.detach().double()[:, None])
    return torch.cat(parts, 1)


def outgoing(first: nn.Module, second: nn.Module) -> Tensor:
    """Outgoing weights, one row per neuron; narrowed outputs count as often as the neurons they represent."""
    weight = _weight(second).detach().double()
    if isinstance(second, CountedLayer) and second.reader and second.reader[0].counts is not None:
        weight = weight * second.reader[0].counts.double().sqrt().view(-1, *[1] * (weight.dim() - 1))
    hidden = _weight(first).shape[0]
    return weight.reshape(weight.shape[0], hidden, -1).transpose(0, 1).flatten(1)


def _weight(layer: nn.Module) -> Tensor:
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight


def _numbers(rows: Tensor) -> Array:
    return np.asarray(rows.cpu().numpy(), dtype=np.float64) + 0.0  # so that -0 and 0 are the same neuron


def _scaled(block: Array) -> Array:
    spread = float(np.sqrt(np.square(block - block.mean(0)).sum(1).mean()))
    return block / spread if spread > 0 else block


@dataclass(frozen=True)
class NeuronChoice:
    """The neurons that stay, and details of the choice.

    Attributes
    ----------
    kept
        Their positions.
    counts
        How many neurons each represents; their sum is the old width.
    order
        The highest order of the matched moments; None if only equal neurons were merged, which preserves all moments.
    coordinates
        The number of coordinates per neuron: incoming weights, bias, outgoing weights.
    dims
        The number of directions in which moments were matched.
    spread_kept
        Share of the neurons' squared distance from their mean that lies in those directions.
    moment_error
        The largest relative change of a moment in those directions.
    """

    kept: NDArray[np.int64]
    counts: Array
    order: int | None
    coordinates: int
    dims: int
    spread_kept: float
    moment_error: float


def choose(
    neurons: Neurons, width: int, order: int | None, dims: int | str | None, smooth: bool, seed: int, name: str
) -> NeuronChoice:
    """Choose at most `width` of the neurons, with counts; `name` is the layer named in errors."""
    _, first, copies = np.unique(neurons.held, axis=0, return_index=True, return_counts=True)
    distinct, m = neurons.points[first], neurons.points.shape[1]
    if len(distinct) <= width:
        place = np.argsort(first)
        return NeuronChoice(first[place], copies[place].astype(np.float64), None, m, m, 1.0, 0.0)
    reduced, spread_kept = principal(distinct, _wanted(dims, width, order), copies.astype(np.float64))
    r = reduced.shape[1]
    chosen = _order(order, reduced, m, width, smooth, name)
    index, counts = compress(reduced, width, chosen, weights=copies, seed=seed, refine=True)
    error = moment_error(reduced, index, counts, chosen, weights=copies)
    place = np.argsort(first[index])
    return NeuronChoice(first[index][place], counts[place], chosen, m, r, spread_kept, error)


def _wanted(dims: int | str | None, width: int, order: int | None) -> int | None:
    """The number of directions to keep; with `auto`, as many as the width can match, at order 2 if none is given."""
    if dims is None or isinstance(dims, int):
        return dims
    most = 0
    while feasible_size(most + 1, order or SECOND) <= width:
        most += 1
    return max(most, 1)


def _order(order: int | None, points: Array, m: int, width: int, smooth: bool, name: str) -> int:
    """The order given, or the advised one but at least 2; raises if the width cannot match it."""
    neurons, r = points.shape
    asked = order or 1
    least = feasible_size(r, asked)
    if least <= width:
        advised = order or advise(neurons, r, width, "smooth" if smooth else "relu").order
        return SECOND if order is None and advised < SECOND and feasible_size(r, SECOND) <= width else advised
    most = _wanted("auto", width, asked)
    said = [f"got {width}"]
    enough = f"{least}" if least < neurons else f"{neurons} (all that differ)"
    if asked > 1 and feasible_size(r, 1) < neurons:
        said.append(f"order 1 fits from {feasible_size(r, 1)}")
    if r > 1 and feasible_size(1, asked) <= width:
        said.append(f"dims={most} matches them in the {most} widest directions alone")
    raise InputError(
        f"width of narrow must be at least {enough} for layer {name!r} to match the moments up to order {asked} of its "
        f"neurons in {r} direction{'s' * (r > 1)} ({m} coordinates each); {'; '.join(said)}."
    )
