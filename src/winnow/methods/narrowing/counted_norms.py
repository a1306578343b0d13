"""Batch norms between two counted layers: each channel's scale and shift belong to its neuron.

A batch norm treats each channel separately: it subtracts the channel's mean over the batch, divides by its standard
deviation, and applies the channel's own scale and shift. Copies of a neuron have the same mean and deviation, whatever
the number of copies, so nothing is counted on the way forward. On the way back the scale and shift of a neuron that
represents c others collect c times the gradient of one copy, and it is divided by c as for its weights. Running
statistics are kept per channel and stay with their neuron.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .counted_layers import CountedLayer, counted_as

__all__ = ["NORMS", "norm_rows", "shrink_norm", "through_norm"]


class _CountedNorm(CountedLayer):
    """A batch norm whose channels are counted by the layer that reads them; mixed into torch's own."""

    def forward(self, input: Tensor) -> Tensor:
        """As torch's own, with the gradients of a single copy for scale and shift."""
        norm: Any = self
        norm._check_input_dim(input)
        follows = norm.training and norm.track_running_stats
        rate = 0.0 if norm.momentum is None else norm.momentum
        if follows and norm.num_batches_tracked is not None:
            norm.num_batches_tracked.add_(1)
            if norm.momentum is None:  # torch's word for a plain average over all batches
                rate = 1.0 / float(norm.num_batches_tracked)
        kept = (norm.running_mean, norm.running_var) if follows or not norm.training else (None, None)
        by_batch = norm.training or kept[0] is None
        return F.batch_norm(input, kept[0], kept[1], *self.effective(), by_batch, rate, norm.eps)


class CountedBatchNorm1d(_CountedNorm, nn.BatchNorm1d):
    """Over neurons, or channels of sequences."""


class CountedBatchNorm2d(_CountedNorm, nn.BatchNorm2d):
    """Over channels of images."""


class CountedBatchNorm3d(_CountedNorm, nn.BatchNorm3d):
    """Over channels of volumes."""


COUNTED: dict[type[nn.Module], type[CountedLayer]] = {
    nn.BatchNorm1d: CountedBatchNorm1d,
    nn.BatchNorm2d: CountedBatchNorm2d,
    nn.BatchNorm3d: CountedBatchNorm3d,
}
NORMS = tuple(COUNTED)


def shrink_norm(norm: Any, kept: Tensor, reader: CountedLayer, shared: bool) -> None:
    """Keep some channels of a batch norm, in place, and make it find their counts in the layer that reads them."""
    for name, value in (*norm.named_parameters(recurse=False), *norm.named_buffers(recurse=False)):
        if value.dim() == 0:
            continue  # the number of batches seen
        some = value.detach()[kept.to(value.device)].clone()
        setattr(norm, name, nn.Parameter(some, value.requires_grad) if isinstance(value, nn.Parameter) else some)
    norm.num_features = len(kept)
    if norm.weight is not None:  # without scale and shift there is no gradient to divide
        counted_as(norm, COUNTED[type(norm)], shared).reader = (reader,)


def through_norm(weight: Tensor, bias: Tensor, norm: Any) -> tuple[Tensor, Tensor]:
    """Incoming weights and bias of each neuron as the activation sees them in eval mode: after the batch norm.

    Without running statistics those of the batch are not known here; the weights then count as they are.
    """
    zero, one = torch.zeros_like(bias), torch.ones_like(bias)
    mean = zero if norm.running_mean is None else norm.running_mean.double()
    deviation = one if norm.running_var is None else torch.sqrt(norm.running_var.double() + norm.eps)
    scale = (one if norm.weight is None else norm.weight.detach().double()) / deviation
    shift = zero if norm.bias is None else norm.bias.detach().double()
    return weight * scale[:, None], (bias - mean) * scale + shift


def norm_rows(norm: Any) -> Tensor:
    """All that a batch norm holds per neuron, one row each."""
    held = (*norm.parameters(recurse=False), *norm.buffers(recurse=False))
    return torch.stack([value.detach().double() for value in held if value.dim()], 1)
