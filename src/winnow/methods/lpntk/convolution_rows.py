"""Per-example gradients of a convolution's weights, as dense rows.

Two ways. If the channels fill wide registers (multiples of eight, single precision), the examples of a batch become the
groups of one convolution, whose weight gradient holds those of all examples; oneDNN computes it two to three times as
fast as products of small matrices. A few channels that are nearly a multiple of eight are filled up with zeros: that is
still 1.2 to 2.2 times as fast (LeNet-5's second convolution, 6 to 16: 1.6). Otherwise a product per example and row of
the kernel: shifted copies of the image for the columns of the kernel only, since its rows are then slices of them; an
unfolded image would take as many copies as the kernel has entries.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional

from .gradient_factors import KernelRows, Piece

__all__ = ["geometry", "image", "kernel_rows"]

Tensor = torch.Tensor
Pairs = tuple[tuple[int, int], ...]
WIDE = 8  # channels that fill a register
FILLED, SMALL = 1.5, 512  # filled up to at most so many times the weights, and inputs x outputs in all


def kernel_rows(module: nn.Module, pairs: list[tuple[Tensor, Tensor]], room: Piece | None) -> KernelRows:
    """Gradients of the weights of one group of a convolution.

    Parameters
    ----------
    module
        The convolution.
    pairs
        For each use: the input as images, and the gradient of the output, batch x outputs x positions.
    room
        Where to write, if it has the right shape.
    """
    shapes = geometry(module)
    (high, wide), (inputs, outputs) = shapes[0], (pairs[0][0].shape[1], pairs[0][1].shape[1])
    n, count = len(pairs[0][0]), high * outputs * inputs * wide
    together = _fills_registers(pairs[0][0], inputs, outputs)
    shape = (1, outputs, inputs, high * wide) if together else (high, outputs, inputs, wide)
    if isinstance(room, KernelRows) and room.shape == shape and len(room.rows) == n:
        rows = room.rows
    else:
        rows = pairs[0][0].new_empty(n, count + (outputs if module.bias is not None else 0))
    for use, (a, g) in enumerate(pairs):
        if together:
            found = _by_groups(a, g, shapes)
            rows[:, :count] = found if use == 0 else rows[:, :count] + found
        else:
            _by_products(a, g, shapes, rows[:, :count], use > 0)
        if module.bias is not None:
            rows[:, count:] = g.sum(2) if use == 0 else rows[:, count:] + g.sum(2)
    return KernelRows(rows, shape)


def _fills_registers(a: Tensor, inputs: int, outputs: int) -> bool:
    """Whether the channels fill wide registers, or nearly."""
    fast = a.dtype == torch.float32 and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    held, filled = inputs * outputs, _up(inputs) * _up(outputs)
    return fast and (held == filled or filled <= min(FILLED * held, SMALL))


def _up(channels: int) -> int:
    return -(-channels // WIDE) * WIDE


def _by_groups(a: Tensor, g: Tensor, shapes: Pairs) -> Tensor:
    """The gradients in the order of the weights; channels are filled up with zeros first."""
    inputs, outputs = a.shape[1], g.shape[1]
    wide, tall = _up(inputs), _up(outputs)
    if (wide, tall) == (inputs, outputs):
        return _at_once(a, g, shapes)
    a, g = functional.pad(a, (0, 0, 0, 0, 0, wide - inputs)), functional.pad(g, (0, 0, 0, tall - outputs))
    found = _at_once(a, g, shapes).view(len(a), tall, wide, -1)
    return found[:, :outputs, :inputs].flatten(1)


def _at_once(a: Tensor, g: Tensor, shapes: Pairs) -> Tensor:
    """All examples in one call, as groups of a convolution over a single image; in the order of the weights."""
    kernel, dilation, pad, stride = shapes
    (n, inputs), outputs, (down, across) = a.shape[:2], g.shape[1], _size(a, shapes)
    weight = a.new_empty(1).expand(n * outputs, inputs, *kernel)  # only its shape is read
    found = torch.ops.aten.convolution_backward(
        g.reshape(1, n * outputs, down, across), a.reshape(1, n * inputs, *a.shape[2:]), weight, None,
        list(stride), list(pad), list(dilation), False, [0, 0], n, [False, True, False],
    )  # fmt: skip
    return cast(Tensor, found[1]).reshape(n, -1)


def _by_products(a: Tensor, g: Tensor, shapes: Pairs, rows: Tensor, add: bool) -> None:
    (high, wide), dilation, pad, stride = shapes
    n, outputs, (down, across) = len(a), g.shape[1], _size(a, shapes)
    padded = functional.pad(a, (pad[1], pad[1], pad[0], pad[0]))
    starts = [c * dilation[1] for c in range(wide)]
    shifted = torch.stack([padded[..., c : c + stride[1] * (across - 1) + 1 : stride[1]] for c in starts], 2)
    shifted, each = shifted.flatten(1, 2), rows.shape[1] // high
    for r in range(high):
        first = r * dilation[0]
        lines = shifted[:, :, first : first + stride[0] * (down - 1) + 1 : stride[0]].flatten(2).transpose(1, 2)
        part = rows[:, r * each : (r + 1) * each].view(n, outputs, -1)
        if add:
            part += torch.bmm(g, lines)
        else:
            torch.bmm(g, lines, out=part)


def _size(a: Tensor, shapes: Pairs) -> tuple[int, int]:
    """Rows and columns of the output."""
    kernel, dilation, pad, stride = shapes
    down, across = (
        (a.shape[2 + i] + 2 * pad[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)
    )
    return down, across


def geometry(module: nn.Module) -> Pairs:
    """Kernel size, dilation, padding and stride of a convolution; a signal is an image one pixel high."""
    conv, flat = cast(Any, module), isinstance(module, nn.Conv1d)
    given = ((1, conv.kernel_size), (1, conv.dilation), (0, conv.padding), (1, conv.stride))
    return tuple((fill, *value) if flat else tuple(value) for fill, value in given)


def image(module: nn.Module, a: Tensor, groups: int, group: int) -> Tensor:
    """The inputs of one group of a convolution, as images."""
    wide = a.shape[1] // groups
    a = a[:, group * wide : (group + 1) * wide]
    return a.unsqueeze(2) if isinstance(module, nn.Conv1d) else a
