"""Pooling for the length of a pass gives torch's own values and gradients, bit for bit, and is gone afterwards."""

import pytest
import torch
from torch import nn

from winnow.methods.lpntk.pooling import quick_pooling


def both_ways(layer, x):
    found = []
    for quick in (False, True):
        given = x.clone().requires_grad_(True)
        if quick:
            with quick_pooling(layer):
                out = layer(given)
        else:
            out = layer(given)
        weights = torch.arange(out.numel(), dtype=x.dtype).reshape(out.shape) + 1
        found.append((out.detach(), torch.autograd.grad((out * weights).sum(), given)[0], type(out.grad_fn).__name__))
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [2, 3, (2, 3), (1, 2)])
def test_values_and_gradients_are_torchs_own(size, dtype):
    x = torch.randint(0, 4, (3, 2, 9, 11), generator=torch.Generator().manual_seed(0)).to(dtype)  # many equal values
    (out, slope, name), (mine, my_slope, my_name) = both_ways(nn.MaxPool2d(size), x)
    assert name != my_name  # it was in fact computed here
    assert torch.equal(out, mine)
    assert torch.equal(slope, my_slope)


def test_a_value_that_is_no_number_is_the_largest():
    x = torch.rand(1, 1, 4, 4)
    x[0, 0, 1, 0] = x[0, 0, 2, 3] = torch.nan
    (out, slope, _), (mine, my_slope, _) = both_ways(nn.MaxPool2d(2), x)
    assert torch.equal(out.isnan(), mine.isnan())
    assert torch.equal(slope, my_slope)


@pytest.mark.parametrize(
    "layer",
    [
        nn.MaxPool2d(3, stride=2),
        nn.MaxPool2d(2, padding=1),
        nn.MaxPool2d(2, dilation=2),
        nn.MaxPool2d(2, ceil_mode=True),
    ],
    ids=str,
)
def test_other_pooling_is_left_to_torch(layer):
    (out, slope, name), (mine, my_slope, my_name) = both_ways(layer, torch.rand(2, 3, 7, 7))
    assert name == my_name
    assert torch.equal(out, mine)
    assert torch.equal(slope, my_slope)


def test_inputs_in_another_layout_are_left_to_torch():
    x = torch.rand(2, 3, 6, 6).contiguous(memory_format=torch.channels_last)
    (out, slope, _), (mine, my_slope, _) = both_ways(nn.MaxPool2d(2), x)
    assert torch.equal(out, mine)
    assert torch.equal(slope, my_slope)


def test_the_network_is_restored_after_an_error():
    model = nn.Sequential(nn.MaxPool2d(2), nn.Linear(3, 1))
    seen = []
    model[0].register_forward_pre_hook(lambda layer, _: seen.append("forward" in vars(layer)))
    with pytest.raises(RuntimeError), quick_pooling(model):
        model(torch.rand(1, 1, 4, 4))
    assert seen == [True]
    assert "forward" not in vars(model[0])
