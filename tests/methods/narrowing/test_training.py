"""The promise: a network whose neurons stand there several times, narrowed, trains as it did."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import winnow as wn
from tests.oracles.narrowing import duplicated, trained
from winnow.methods.narrowing import fold, restore

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, weight_decay=0.01, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.005, momentum=0.5, weight_decay=0.01),
}
NETWORKS = {
    "one": ((4, 6, 2), [[3, 3, 3, 3, 3, 3]]),
    "uneven": ((4, 6, 2), [[1, 2, 3, 4, 5, 6]]),
    "chain": ((4, 5, 6, 2), [[1, 2, 3, 4, 5], [2, 2, 1, 7, 3, 1]]),
    "long chain": ((4, 3, 4, 3, 2), [[1, 2, 3], [2, 2, 1, 4], [5, 1, 3]]),
}
rng = torch.Generator().manual_seed(1)
X = torch.randn(40, 4, generator=rng, dtype=torch.float64)
Y = torch.randn(40, 2, generator=rng, dtype=torch.float64)


def furthest(a: list[float], b: list[float]) -> float:
    return float(np.abs(np.subtract(a, b)).max())


def pair(network: str, activation: Callable[[], nn.Module] = nn.Tanh) -> tuple[nn.Sequential, nn.Module]:
    sizes, copies = NETWORKS[network]
    wide, _ = duplicated(sizes, copies, activation)
    return wide, wn.narrow(wide, max(sizes[1:-1]))


@pytest.mark.parametrize(
    ("network", "optimiser", "activation"),
    [*((n, o, nn.Tanh) for n in NETWORKS for o in OPTIMISERS), *(("chain", o, nn.ReLU) for o in OPTIMISERS)],
)
def test_it_trains_as_the_wide_network(network: str, optimiser: str, activation: Callable[[], nn.Module]) -> None:
    sizes, copies = NETWORKS[network]
    wide, originals = duplicated(sizes, copies, activation)
    net = wn.narrow(wide, max(sizes[1:-1]))
    assert [one.after for one in net.narrowed.pairs] == list(sizes[1:-1])
    losses = trained(wide, X, Y, OPTIMISERS[optimiser])
    assert losses[-1] < 0.9 * losses[0]
    assert furthest(losses, trained(net, X, Y, OPTIMISERS[optimiser])) < 1e-10
    # Every copy has gone where its one neuron has gone: each row of the wide layer is a row of the narrow one.
    for place, row in enumerate(originals):
        firsts = sorted(row.index(j) for j in range(sizes[place + 1]))
        torch.testing.assert_close(net[2 * place].bias, wide[2 * place].bias[firsts], rtol=0, atol=1e-10)
        assert net[2 * place + 2].counts.tolist() == [row.count(row[j]) for j in firsts]


@pytest.mark.parametrize(("optimiser", "least"), [("sgd", 0.1), ("adam", 1e-3), ("adamw", 1e-9)])
@pytest.mark.parametrize("network", ["one", "chain"])
def test_without_the_rule_it_does_not(network: str, optimiser: str, least: float) -> None:
    sizes, copies = NETWORKS[network]
    wide, _ = duplicated(sizes, copies, nn.Tanh)
    net = wn.narrow(wide, max(sizes[1:-1]), gradients="plain")
    losses = [trained(each, X, Y, OPTIMISERS[optimiser]) for each in (wide, net)]
    assert abs(losses[0][0] - losses[1][0]) < 1e-12
    assert not furthest(*losses) < least


def test_gradients_add_up_over_several_backward_calls() -> None:
    wide, net = pair("chain")
    losses = [trained(each, X, Y, OPTIMISERS["adam"], parts=4) for each in (wide, net)]
    assert furthest(*losses) < 1e-10


def test_a_copy_trains_on_by_itself() -> None:
    wide, net = pair("chain")
    twin = copy.deepcopy(net)
    assert twin.narrowed == net.narrowed
    before = net.state_dict()["0.weight"].clone()
    assert furthest(trained(wide, X, Y, OPTIMISERS["sgd"]), trained(twin, X, Y, OPTIMISERS["sgd"])) < 1e-10
    torch.testing.assert_close(net.state_dict()["0.weight"], before, rtol=0, atol=0)
    assert twin[0].reader[0] is twin[2]


def test_a_change_of_type_takes_the_counts_along() -> None:
    _, net = pair("chain")
    assert all(value.dtype == torch.float32 for value in net.float().state_dict().values())
    loss = net(X.float()).square().sum()
    loss.backward()
    assert net[0].weight.grad.dtype == torch.float32
    meta = copy.deepcopy(net).to("meta")
    assert meta(X.float().to("meta")).device.type == "meta"


@pytest.mark.parametrize("gradients", ["counted", "plain"])
def test_counts_beyond_half_precision_stay_finite(gradients: str) -> None:
    wide, _ = duplicated(*NETWORKS["one"], nn.Tanh)
    net = wn.narrow(wide, 6, gradients=gradients)
    net[2].counts.fill_(100_000.0)
    net[2].weight.data /= 30_000
    wanted = net(X)
    for low in (copy.deepcopy(net).half(), copy.deepcopy(net).to(torch.bfloat16)):
        assert low[2].counts.dtype == torch.float32
        assert low[2].counts.tolist() == [100_000.0] * 6
        made = low(X.to(low[0].weight.dtype))
        assert made.dtype == low[0].weight.dtype
        torch.testing.assert_close(made.double(), wanted, rtol=0.05, atol=0.05)
        torch.testing.assert_close(fold(low)(X.to(made.dtype)), made)
        if gradients == "plain":
            continue  # undivided, they are as large as the counts
        made.float().sum().backward()
        assert all(value.grad.isfinite().all() and value.grad.dtype == value.dtype for value in low.parameters())
    small = wn.narrow(wide.half(), 6)
    assert small[2].counts.dtype == torch.float32


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own forward mode uses it
def test_forward_mode_gives_the_derivative_of_the_outputs() -> None:
    _, net = pair("chain")
    values = {name: value.detach() for name, value in net.named_parameters()}
    ways = {name: torch.randn(value.shape, generator=rng, dtype=value.dtype) for name, value in values.items()}

    def outputs(parameters: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(net, parameters, (X,))

    def moved(step: float) -> Tensor:
        return outputs({name: value + step * ways[name] for name, value in values.items()})

    _, found = torch.func.jvp(outputs, (values,), (ways,))
    torch.testing.assert_close(found, (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-6, atol=1e-6)


def test_a_saved_network_trains_on_after_restoring(tmp_path) -> None:
    wide, net = pair("chain")
    plain_names = set(wide.state_dict())
    assert set(net.state_dict()) == plain_names | {"2.counts", "4.counts"}
    save_file(net.state_dict(), tmp_path / "net.safetensors")
    fresh, _ = duplicated(*NETWORKS["chain"], nn.Tanh, seed=5)
    again = restore(fresh, load_file(tmp_path / "net.safetensors"))
    assert furthest(trained(wide, X, Y, OPTIMISERS["adam"]), trained(again, X, Y, OPTIMISERS["adam"])) < 1e-10


def test_counts_that_are_loaded_are_used() -> None:
    _, net = pair("one")
    state = net.state_dict()
    state["2.counts"] = state["2.counts"] * 2
    other = copy.deepcopy(net)
    other.load_state_dict(state)
    torch.testing.assert_close(other(X) - other[2].bias, 2 * (net(X) - net[2].bias))
    for each in (net, other):  # the same error at the output, whatever it is
        each.zero_grad()
        each(X).sum().backward()
    torch.testing.assert_close(net[0].weight.grad, other[0].weight.grad)
    torch.testing.assert_close(net[2].weight.grad, other[2].weight.grad)


def test_folding_leaves_a_plain_network_with_the_same_outputs() -> None:
    wide, net = pair("chain")
    plain = fold(net)
    assert [type(layer) for layer in plain] == [type(layer) for layer in wide]
    assert set(plain.state_dict()) == set(wide.state_dict())
    assert not hasattr(plain, "narrowed")
    assert (plain[2].in_features, plain[2].out_features) == (5, 6)
    torch.testing.assert_close(plain(X), wide(X), rtol=0, atol=1e-13)
    assert type(net[0]).__name__ == "CountedLinear"
    bare = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    bare.load_state_dict(plain.state_dict())
    torch.testing.assert_close(bare(X), plain(X), rtol=0, atol=0)


def test_gradients_of_single_examples() -> None:
    _, net = pair("chain")
    values = {name: value.detach() for name, value in net.named_parameters()}

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return (torch.func.functional_call(net, parameters, (x,)) - y).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(values, X, Y)
    (net(X) - Y).square().sum().backward()
    for name, value in net.named_parameters():
        torch.testing.assert_close(each[name].sum(0), value.grad)


def test_frozen_layers_stay_frozen() -> None:
    wide, _ = pair("chain")
    wide[0].requires_grad_(False)
    net = wn.narrow(wide, 6)
    assert [value.requires_grad for value in net.parameters()] == [False, False, True, True, True, True]
    assert furthest(trained(wide, X, Y, OPTIMISERS["sgd"]), trained(net, X, Y, OPTIMISERS["sgd"])) < 1e-10


def test_the_wide_network_is_left_as_it_was() -> None:
    wide, _ = duplicated(*NETWORKS["chain"], nn.Tanh)
    before = copy.deepcopy(wide.state_dict())
    wn.narrow(wide, 6)
    assert [type(layer) for layer in wide] == [nn.Linear, nn.Tanh, nn.Linear, nn.Tanh, nn.Linear]
    for name, value in wide.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
