"""Narrowing through a batch norm: its scale, shift and running statistics belong to the neuron."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import winnow as wn
from tests.oracles.narrowing import duplicated_convnet, trained
from winnow.methods.narrowing import find_pairs, fold, restore
from winnow.methods.narrowing.counted_norms import through_norm

COPIES = (1, 2, 3, 4)
OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.02, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
}
rng = torch.Generator().manual_seed(2)
X = torch.randn(24, 2, 6, 6, generator=rng, dtype=torch.float64)
Y = torch.randn(24, 2, generator=rng, dtype=torch.float64)


def furthest(a: list[float], b: list[float]) -> float:
    return float(np.abs(np.subtract(a, b)).max())


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("momentum", [0.1, None])
def test_it_trains_as_the_wide_network(optimiser: str, momentum: float | None) -> None:
    wide, _, row = duplicated_convnet(COPIES)
    wide[1].momentum = momentum
    net = wn.narrow(wide, len(COPIES))
    losses = trained(wide, X, Y, OPTIMISERS[optimiser])
    assert losses[-1] < 0.9 * losses[0]
    assert furthest(losses, trained(net, X, Y, OPTIMISERS[optimiser])) < 1e-10
    firsts = sorted(row.index(j) for j in range(len(COPIES)))
    for name in ("weight", "bias", "running_mean", "running_var"):  # Adam divides a bias' zero gradient by its rounding
        torch.testing.assert_close(getattr(net[1], name), getattr(wide[1], name)[firsts], rtol=0, atol=1e-7)
    assert net[1].num_batches_tracked == wide[1].num_batches_tracked
    torch.testing.assert_close(net.eval()(X), wide.eval()(X), rtol=0, atol=1e-7)


def test_the_narrow_network_is_the_small_one_with_counts() -> None:
    """The obvious twin: the small network, its head's weights times the counts."""
    wide, small, row = duplicated_convnet(COPIES)
    net = wn.narrow(wide, len(COPIES))
    with torch.no_grad():
        for j, count in enumerate(COPIES):
            small[5].weight[:, 4 * j : 4 * j + 4] *= count
    for mode in (False, True):
        wanted = small.train(mode)(X)
        torch.testing.assert_close(net.train(mode)(X), wanted, rtol=0, atol=1e-12)
        torch.testing.assert_close(fold(net)(X), wanted, rtol=0, atol=1e-12)
    first_seen = [row[i] for i in sorted(row.index(j) for j in range(len(COPIES)))]
    assert net[5].counts.tolist() == [COPIES[j] for j in first_seen]


def test_without_the_rule_scale_and_shift_go_elsewhere() -> None:
    wide, _, _ = duplicated_convnet(COPIES)
    net = wn.narrow(wide, len(COPIES), gradients="plain")
    losses = [trained(each, X, Y, OPTIMISERS["sgd"]) for each in (wide, net)]
    assert abs(losses[0][0] - losses[1][0]) < 1e-12
    assert furthest(*losses) > 0.01


def test_gradients_of_scale_and_shift_are_those_of_one_copy() -> None:
    wide, _, row = duplicated_convnet(COPIES)
    net = wn.narrow(wide, len(COPIES))
    for each in (wide, net):
        (each(X) - Y).square().sum().backward()
    firsts = sorted(row.index(j) for j in range(len(COPIES)))
    for name in ("weight", "bias"):
        one, narrow = getattr(wide[1], name).grad[firsts], getattr(net[1], name).grad
        torch.testing.assert_close(narrow, one, rtol=0, atol=1e-10)


def test_it_is_saved_restored_copied_and_folded() -> None:
    wide, _, _ = duplicated_convnet(COPIES)
    net = wn.narrow(wide, len(COPIES))
    again = restore(wide, net.state_dict())
    assert furthest(*(trained(each, X, Y, OPTIMISERS["adam"]) for each in (copy.deepcopy(net), again))) < 1e-12
    plain = fold(net)
    assert [type(layer) for layer in plain] == [type(layer) for layer in wide]
    assert (plain[1].num_features, set(plain.state_dict())) == (len(COPIES), set(wide.state_dict()))
    assert type(net[1]).__name__ == "CountedBatchNorm2d"
    assert net.half()[1].weight.dtype == torch.float16


def test_copies_must_agree_in_all_they_hold() -> None:
    """Two neurons that compute the same but hold different numbers would train apart: they are not merged."""
    wide, _, row = duplicated_convnet((1, 2))
    pair = [i for i, j in enumerate(row) if j == 1]
    with torch.no_grad():
        wide[0].weight[pair[0]] *= 2
        wide[0].bias[pair[0]] *= 2
        wide[1].running_mean[pair[0]] *= 2
        wide[1].running_var[pair[0]] = 4 * wide[1].running_var[pair[0]] + 3 * wide[1].eps
    net = wn.narrow(wide, 2, example=X)
    assert net.narrowed.pairs[0].order is not None
    assert net.narrowed.output_change < 0.5


def test_a_neuron_counts_as_it_is_behind_the_norm() -> None:
    """The oracle: what eval mode computes, one neuron and one input at a time."""
    layer, norm = nn.Linear(3, 5).double(), nn.BatchNorm1d(5).double()
    with torch.no_grad():
        for value in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
            value.copy_(torch.rand(5, generator=rng) + 0.5)
    weight, bias = through_norm(layer.weight.detach(), layer.bias.detach(), norm)
    x = torch.randn(4, 3, generator=rng, dtype=torch.float64)
    wanted = norm.eval()(layer(x)).detach()
    for i in range(4):
        for j in range(5):
            assert float(weight[j] @ x[i] + bias[j]) == pytest.approx(float(wanted[i, j]), abs=1e-12)


def test_a_residual_network_is_narrowed_inside_its_blocks() -> None:
    model = wn.models.build("resnet20", classes=4, shape=(3, 16, 16))
    found = find_pairs(model)
    assert len(found.pairs) == 9
    assert all(pair.norms == (pair.first.replace("conv1", "bn1"),) for pair in found.pairs)
    net = wn.narrow(model, 0.5)
    assert net.narrowed.parameters_after < 0.6 * net.narrowed.parameters_before
    net(torch.randn(2, 3, 16, 16)).sum().backward()


def test_a_wide_network_with_norms_is_followed_closely() -> None:
    """Neurons that are nearly alike: the narrow one's losses stay within a few per cent of the wide one's."""
    wide, _, _ = duplicated_convnet((8, 8, 8, 8))
    with torch.no_grad():
        for value in wide.parameters():
            value.mul_(1 + 0.02 * torch.randn(value.shape, generator=rng, dtype=torch.float64))
    net = wn.narrow(wide, 12)
    lost = wn.narrow(wide, 12, gradients="plain")
    curves = [np.array(trained(each, X, Y, OPTIMISERS["sgd"])) for each in (wide, net, lost)]
    near, far = (np.abs(np.log(curve / curves[0])).mean() for curve in curves[1:])
    assert near < 0.05
    assert near < far
