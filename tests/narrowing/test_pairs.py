"""Which pairs are found, and why other layers start none."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import winnow as wn
from winnow.errors import InputError, NotDefinedError, UnknownNameError
from winnow.narrowing import find_pairs


class Written(nn.Module):
    """Layers a, b, c with whatever a function makes of them."""

    def __init__(self, forward, **layers: nn.Module) -> None:
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.how = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.how(self, x)


def lines(*sizes: int) -> dict[str, nn.Module]:
    return {name: nn.Linear(a, b) for name, a, b in zip("abc", sizes[:-1], sizes[1:], strict=False)}


def names(model: nn.Module) -> list[tuple[str, str, int]]:
    return [(pair.first, pair.second, pair.width) for pair in find_pairs(model).pairs]


FOUND = {
    "functions": (lambda s, x: s.b(torch.tanh(s.a(x))), lines(4, 8, 2)),
    "methods": (lambda s, x: s.b(s.a(x).relu()), lines(4, 8, 2)),
    "several in a row": (lambda s, x: s.b(F.dropout(F.gelu(s.a(x)), 0.0)), lines(4, 8, 2)),
    "a residual around it": (lambda s, x: x + s.b(F.silu(s.a(x))), lines(4, 8, 4)),
    "its size is asked": (lambda s, x: s.b(torch.tanh(h := s.a(x))) * h.size(0), lines(4, 8, 2)),
    "one slope for all": (lambda s, x: s.b(s.p(s.a(x))), {**lines(4, 8, 2), "p": nn.PReLU()}),
}


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    how, layers = FOUND[case]
    assert names(Written(how, **layers)) == [("a", "b", 8)]


def test_an_activation_may_be_used_many_times() -> None:
    act = nn.Tanh()
    model = nn.Sequential(nn.Linear(3, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 2)).double()
    assert names(model) == [("0", "2", 8), ("2", "4", 8)]
    model[0].weight.data[4:] = model[0].weight.data[:4]
    model[0].bias.data[4:] = model[0].bias.data[:4]
    model[2].weight.data[:, 4:] = model[2].weight.data[:, :4]
    net = wn.narrow(model, 4, layers=["0"])
    x = torch.randn(5, 3, dtype=torch.float64)
    torch.testing.assert_close(net(x), model(x))


def shared() -> dict[str, nn.Module]:
    layers = lines(4, 8, 4, 2)
    layers["b"].weight = nn.Parameter(torch.randn(4, 8))
    layers["d"] = nn.Linear(8, 4)
    layers["d"].weight = layers["b"].weight
    return layers


conv = nn.Conv2d
REFUSED = {
    "a norm": (lambda s, x: s.b(torch.relu(s.n(s.a(x)))), {**lines(4, 8, 2), "n": nn.LayerNorm(8)}, "a norm (n)"),
    "a norm as a function": (lambda s, x: s.b(F.layer_norm(s.a(x), (8,)).relu()), lines(4, 8, 2), "a norm"),
    "a residual": (lambda s, x: s.b(torch.relu(s.a(x) + x)), lines(8, 8, 2), "a residual"),
    "two readers": (lambda s, x: s.b(h := torch.relu(s.a(x))) + s.c(h), lines(4, 8, 8, 8), "read by b, c"),
    "a layer used twice": (lambda s, x: s.b(torch.relu(s.a(s.b(torch.relu(s.a(x)))))), lines(4, 8, 4), "used 2 times"),
    "tied weights": (lambda s, x: s.b(torch.relu(s.a(x))), shared(), "shares its weights with d"),
    "weights used outside": (lambda s, x: s.b(torch.relu(s.a(x))) @ s.b.weight, lines(4, 8, 2), "used outside it"),
    "softmax": (lambda s, x: s.b(torch.softmax(s.a(x), -1)), lines(4, 8, 2), "softmax"),
    "no activation": (lambda s, x: s.b(s.a(x)), lines(4, 8, 2), "no activation"),
    "a fixed view": (
        lambda s, x: s.b(torch.relu(s.a(x)).view(-1, 32)),
        {"a": conv(1, 8, 3), "b": nn.Linear(32, 2)},
        "view stands between",
    ),
    "channels not separable": (
        lambda s, x: s.b(torch.relu(s.a(x))),
        {"a": conv(1, 8, 3), "b": nn.Linear(2, 2)},
        "does not read its channels",
    ),
    "positions mixed": (lambda s, x: s.b(torch.relu(s.a(x)).flatten(1)), lines(4, 8, 2), "mixes its neurons"),
    "groups": (
        lambda s, x: s.b(torch.relu(s.a(x))),
        {"a": conv(4, 8, 3), "b": conv(8, 8, 3, groups=8)},
        "b is a convolution in groups",
    ),
    "a slope each": (lambda s, x: s.b(s.p(s.a(x))), {**lines(4, 8, 2), "p": nn.PReLU(8)}, "p (PReLU)"),
    "a computed weight": (
        lambda s, x: s.b(torch.relu(s.a(x))),
        {"a": nn.utils.parametrizations.weight_norm(nn.Linear(4, 8)), "b": nn.Linear(8, 2)},
        "not a plain layer",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    how, layers, words = REFUSED[case]
    model = Written(how, **layers)
    found = find_pairs(model)
    assert "a" not in [pair.first for pair in found.pairs]
    assert words in found.refused["a"]
    for typed in ({"layers": ["a"]}, {}):
        with pytest.raises(NotDefinedError, match="narrow") as error:
            wn.narrow(model, 4, **typed)
        assert words in str(error.value)
        assert "\n" not in str(error.value)


class Untraceable(nn.Module):
    """A model that asks what is in its data."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4), nn.BatchNorm1d(4)) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x) if x.sum() > 0 else -block(x)
        return x


def test_what_cannot_be_traced_is_named() -> None:
    model = Untraceable().double()
    with pytest.raises(NotDefinedError, match=r"cannot be traced by torch\.fx .*; name the first layer .* layers="):
        wn.narrow(model, 4)
    found = find_pairs(model, ["blocks.*.0"])
    assert [(pair.first, pair.second) for pair in found.pairs] == [
        ("blocks.0.0", "blocks.0.2"),
        ("blocks.1.0", "blocks.1.2"),
    ]
    with pytest.raises(NotDefinedError, match=r"'blocks\.0\.2' cannot be narrowed: a norm"):
        wn.narrow(model, 4, layers=["blocks.0.2"])


def test_names() -> None:
    model = wn.models.build("mlp", classes=3, shape=(5,))
    with pytest.raises(UnknownNameError, match="nearest: 'linear1'"):
        wn.narrow(model, 4, layers=["linear11"])
    with pytest.raises(UnknownNameError, match="nearest: 'linear1'"):
        wn.narrow(model, {"linaer1": 4})
    with pytest.raises(InputError, match="layers of narrow must be names of layers, in a list"):
        wn.narrow(model, 4, layers="linear1")
    with pytest.raises(NotDefinedError, match="'head' cannot be narrowed: no layer reads"):
        wn.narrow(model, 4, layers=["head"])
