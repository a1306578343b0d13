"""Both ways to the gradients of a convolution's weights equal autograd, one example at a time."""

import pytest
import torch
from torch import nn

from winnow.methods.lpntk import convolution_rows
from winnow.methods.lpntk.gradient_factors import KernelRows
from winnow.methods.lpntk.layers import pieces_of

LAYERS = [
    nn.Conv2d(8, 16, 3, padding=1),
    nn.Conv2d(16, 8, 3, stride=2, padding=1, bias=False),
    nn.Conv2d(8, 8, (3, 2), padding=(2, 0), dilation=(1, 2), stride=(2, 1)),
    nn.Conv2d(16, 32, 1, stride=2),
    nn.Conv2d(16, 16, 3, groups=2),
    nn.Conv1d(8, 8, 3, padding=1, stride=2),
    nn.Conv2d(6, 16, 5),  # filled up with zeros, like the next ones
    nn.Conv2d(15, 14, 3, padding=1, stride=2, bias=False),
    nn.Conv2d(14, 28, 3, groups=2),
    nn.Conv1d(7, 8, 3, padding=1),
]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_equals_autograd_example_by_example(layer, together, monkeypatch):
    calls = []
    by_groups = convolution_rows._by_groups
    monkeypatch.setattr(convolution_rows, "_by_groups", lambda *given: calls.append(1) or by_groups(*given))
    if not together:
        monkeypatch.setattr(convolution_rows, "WIDE", 1 << 20)
    draw = torch.Generator().manual_seed(0)
    layer = layer.float()
    size = (9, 10)[: 1 if isinstance(layer, nn.Conv1d) else 2]
    pairs, expected = [], torch.zeros(5, sum(p.numel() for p in layer.parameters()))
    for _ in range(2):  # a layer that is used twice
        x = torch.randn(5, layer.in_channels, *size, generator=draw)
        g = torch.randn(layer(x).shape, generator=draw)
        pairs.append((x, g))
        for i in range(5):
            slopes = torch.autograd.grad((layer(x[i : i + 1]) * g[i : i + 1]).sum(), list(layer.parameters()))
            weight = slopes[0].flatten(1)
            row = weight if layer.bias is None else torch.cat([weight, slopes[1][:, None]], 1)
            expected[i] += row.flatten()
    pieces = pieces_of(layer, pairs)
    rooms = tuple(KernelRows(torch.full_like(p.rows, torch.nan), p.shape) for p in pieces)
    written = pieces_of(layer, pairs, rooms)
    found = torch.cat([piece.dense() for piece in pieces], 1)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert all(piece.rows.data_ptr() == room.rows.data_ptr() for piece, room in zip(written, rooms, strict=True))
    torch.testing.assert_close(torch.cat([room.dense() for room in rooms], 1), found, rtol=0, atol=0)
    assert bool(calls) == together


@pytest.mark.parametrize(
    ("inputs", "outputs", "fills"), [(6, 16, True), (8, 64, True), (1, 6, False), (3, 16, False), (20, 50, False)]
)
def test_few_channels_are_filled_up_where_few_are_missing(inputs, outputs, fills):
    assert convolution_rows._fills_registers(torch.empty(1), inputs, outputs) == fills
    assert not convolution_rows._fills_registers(torch.empty(1, dtype=torch.float64), inputs, outputs)
