"""A hidden neuron as a point: its incoming weights, its bias and its outgoing weights.

The scale of the coordinates decides where cells are cut and which directions `dims` keeps (the moments of a cell do not
depend on it), so they are put on one scale. Incoming weights and bias together are divided by the root of their mean
squared distance from the average neuron, and so are the outgoing weights. Input and output of a neuron then count the
same, and within each half the network's own units stay. A coordinate of a neuron that represents c others counts c
times, as those would.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .counted_layers import CountedLayer

__all__ = ["incoming", "objects", "outgoing"]

Array = NDArray[np.float64]


def objects(first: nn.Module, second: nn.Module) -> Array:
    """One row per hidden neuron, coordinates on one scale."""
    return np.hstack([_scaled(_numbers(incoming(first))), _scaled(_numbers(outgoing(first, second)))])


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
