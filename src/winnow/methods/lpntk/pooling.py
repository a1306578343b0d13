"""Max pooling without overlap, for the length of a pass.

Torch's own takes longer than the convolutions around it in a small network: it was a quarter of the Gram matrix of
LeNet-5. The windows of the usual pooling do not overlap, so the gradient of an output goes to one input, whose place is
noted. The first of equal inputs gets it, as in torch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import nn

from ...core.jit import compiled

__all__ = ["quick_pooling"]

Tensor = torch.Tensor


@contextmanager
def quick_pooling(model: nn.Module) -> Iterator[None]:
    """Let the plain max pooling layers of a network compute here, and restore them afterwards."""
    layers = [m for m in model.modules() if type(m) is nn.MaxPool2d and _apart(m) and "forward" not in vars(m)]
    for layer in layers:
        vars(layer)["forward"] = functools.partial(_pool, layer)
    try:
        yield
    finally:
        for layer in layers:
            del vars(layer)["forward"]


def _apart(layer: nn.MaxPool2d) -> bool:
    """Whether the windows touch and do not overlap, and nothing but the largest values is asked for."""
    plain = _both(layer.padding) == (0, 0) and _both(layer.dilation) == (1, 1)
    return plain and _both(layer.kernel_size) == _both(layer.stride) and not (layer.ceil_mode or layer.return_indices)


def _both(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


def _pool(layer: nn.MaxPool2d, given: Tensor) -> Tensor:
    high, wide = _both(layer.kernel_size)
    usual = given.dim() == 4 and given.is_contiguous() and given.device.type == "cpu"
    fits = usual and given.shape[2] >= high and given.shape[3] >= wide and given.numel() > 0
    if not fits or given.dtype not in (torch.float32, torch.float64):
        return cast(Tensor, nn.MaxPool2d.forward(layer, given))
    return cast(Tensor, _Pooled.apply(given, high, wide))


class _Pooled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, high: int, wide: int) -> Tensor:
        n, planes, rows, columns = given.shape
        out = given.new_empty(n, planes, rows // high, columns // wide)
        place = torch.empty(out.shape, dtype=torch.int32)
        _largest(
            given.detach().view(-1, rows, columns).numpy(), high, wide, out.flatten(0, 1).numpy(),
            place.flatten(0, 1).numpy(),
        )  # fmt: skip
        ctx.save_for_backward(place)
        ctx.size = given.shape
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (place,) = ctx.saved_tensors
        back = slopes[0].new_zeros(ctx.size)
        _spread(slopes[0].detach().flatten(2).flatten(0, 1).numpy(), place.flatten(2).flatten(0, 1).numpy(),
                back.flatten(2).flatten(0, 1).numpy())  # fmt: skip
        return back, None, None


@compiled
def _largest(given: Any, high: int, wide: int, out: Any, place: Any) -> None:
    """The largest value of each window, and where it is in its plane; one that is not a number counts as largest."""
    planes, rows, columns = out.shape
    width = given.shape[2]
    if high == 2 and wide == 2:  # most networks: a loop that the compiler turns into wide instructions
        for p in range(planes):
            for i in range(rows):
                first, second = given[p, 2 * i], given[p, 2 * i + 1]
                for j in range(columns):
                    a, b, c, d = first[2 * j], first[2 * j + 1], second[2 * j], second[2 * j + 1]
                    start = 2 * i * width + 2 * j
                    upper = a if not (b > a or b != b) else b
                    upper_at = start if not (b > a or b != b) else start + 1
                    lower = c if not (d > c or d != d) else d
                    lower_at = start + width if not (d > c or d != d) else start + width + 1
                    below = lower > upper or lower != lower
                    out[p, i, j] = lower if below else upper
                    place[p, i, j] = lower_at if below else upper_at
        return
    for p in range(planes):
        for i in range(rows):
            for j in range(columns):
                best, at = given[p, i * high, j * wide], i * high * width + j * wide
                for a in range(high):
                    for b in range(wide):
                        value = given[p, i * high + a, j * wide + b]
                        if value > best or value != value:
                            best, at = value, (i * high + a) * width + j * wide + b
                out[p, i, j], place[p, i, j] = best, at


@compiled
def _spread(slopes: Any, place: Any, back: Any) -> None:
    for p in range(slopes.shape[0]):
        for i in range(slopes.shape[1]):
            back[p, place[p, i]] = slopes[p, i]
