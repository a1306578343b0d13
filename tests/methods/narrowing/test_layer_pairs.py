"""Which pairs are found, and why other layers start none."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import winnow as wn
from winnow.core.errors import InputError, NotDefinedError, UnknownNameError
from winnow.methods.moments.advise import KINKED, SMOOTH
from winnow.methods.narrowing import find_pairs
from winnow.methods.narrowing.steps import ELEMENTWISE


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


def hooked(name: str, before: bool = False) -> dict[str, nn.Module]:
    """Layers of which one has a forward hook."""
    layers = {**lines(4, 8, 2), "act": nn.ReLU()}
    if before:
        layers[name].register_forward_pre_hook(lambda _, given: given)
    else:
        layers[name].register_forward_hook(lambda _, given, made: made.roll(1, -1))
    return layers


conv = nn.Conv2d
act = nn.functional.relu
REFUSED = {
    "a pool after flattening": (
        lambda s, x: s.b(s.p(act(s.a(x)).flatten(1))),
        {"a": conv(1, 8, 3), "p": nn.AvgPool1d(3, 1, 1), "b": nn.Linear(32, 3)},
        "a pool after flattening",
    ),
    "a pool over channels": (
        lambda s, x: s.b(F.avg_pool2d(act(s.a(x)), 3, 1, 1).flatten(1)),
        {"a": nn.Conv1d(1, 8, 3), "b": nn.Linear(32, 3)},
        "a pool over 2 axes does not fit channels of 1",
    ),
    "a mean over too few axes": (
        lambda s, x: s.b(act(s.a(x)).mean((2, 3))),
        {"a": nn.Conv3d(1, 8, 3), "b": nn.Linear(8, 3)},
        "a mean over the axes (2, 3) is not over exactly the 3",
    ),
    "a mean over channels": (
        lambda s, x: s.b(act(s.a(x)).mean((1, 2))),
        {"a": conv(1, 8, 3), "b": nn.Linear(8, 3)},
        "a mean over the axes (1, 2)",
    ),
    "a mean that keeps its axes": (
        lambda s, x: s.b(act(s.a(x)).mean((2, 3), keepdim=True)),
        {"a": conv(1, 8, 3), "b": conv(8, 3, 1)},
        "mean comes between",
    ),
    "channels as positions": (
        lambda s, x: s.b(act(s.a(x))),
        {"a": nn.Conv1d(1, 8, 3), "b": conv(8, 3, 1)},
        "does not read its channels",
    ),
    "a hook on the writer": (lambda s, x: s.b(s.act(s.a(x))), hooked("a"), "a has a forward hook"),
    "a hook before the reader": (lambda s, x: s.b(s.act(s.a(x))), hooked("b", True), "b has a forward hook"),
    "a hook in between": (lambda s, x: s.b(s.act(s.a(x))), hooked("act"), "act has a forward hook"),
    "a norm": (lambda s, x: s.b(torch.relu(s.n(s.a(x)))), {**lines(4, 8, 2), "n": nn.LayerNorm(8)}, "a norm (n)"),
    "a norm as a function": (lambda s, x: s.b(F.layer_norm(s.a(x), (8,)).relu()), lines(4, 8, 2), "a norm"),
    "a batch norm as a function": (
        lambda s, x: s.b(F.batch_norm(s.a(x), None, None, training=True).relu()),
        lines(4, 8, 2),
        "a norm",
    ),
    "a batch norm of other axes": (
        lambda s, x: s.b(torch.relu(s.n(s.a(x)))),
        {**lines(4, 8, 2), "n": nn.BatchNorm1d(5)},
        "a norm (n) between it and the next layer is not over its 8 outputs",
    ),
    "a batch norm of flattened channels": (
        lambda s, x: s.b(s.n(torch.relu(s.a(x)).flatten(1))),
        {"a": conv(1, 8, 3), "n": nn.BatchNorm1d(32), "b": nn.Linear(32, 2)},
        "is not over its 8 outputs",
    ),
    "a batch norm without weights or statistics": (
        lambda s, x: s.b(torch.relu(s.n(s.a(x)))),
        {**lines(4, 8, 2), "n": nn.BatchNorm1d(8, affine=False, track_running_stats=False)},
        "keeps nothing per neuron",
    ),
    "a batch norm used twice": (
        lambda s, x: s.b(torch.relu(s.n(s.a(x)))) + s.c(torch.relu(s.n(s.d(x)))),
        {**lines(4, 8, 2), "c": nn.Linear(8, 2), "d": nn.Linear(4, 8), "n": nn.BatchNorm1d(8)},
        "n is used 2 times",
    ),
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
        "view comes between",
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
        "b is a grouped convolution",
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


@pytest.mark.parametrize(
    ("layer", "axes", "sides"),
    [(nn.Conv1d, 2, 1), (nn.Conv2d, (2, 3), 2), (nn.Conv2d, [-1, -2], 2), (nn.Conv3d, (2, 3, 4), 3)],
)
def test_a_mean_over_whole_channels_is_found(layer: type[nn.Module], axes: object, sides: int) -> None:
    how = lambda s, x: s.b(torch.relu(s.a(x)).mean(axes))  # noqa: E731
    wide = Written(how, a=layer(1, 8, 3), b=nn.Linear(8, 3)).double()
    assert names(wide) == [("a", "b", 8)]
    for value in wide.a.parameters():
        value.data[4:] = value.data[:4]
    wide.b.weight.data[:, 4:] = wide.b.weight.data[:, :4]
    x = torch.randn(3, 1, *[5] * sides, dtype=torch.float64)
    torch.testing.assert_close(wn.narrow(wide, 4)(x), wide(x))


@pytest.mark.parametrize("part", ["linear1", "linear2", "dropout"])
def test_a_hook_within_a_block_is_refused(part: str) -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2)
    model.layers[1].get_submodule(part).register_forward_hook(lambda _, given, made: made)
    found = find_pairs(model)
    assert [pair.first for pair in found.pairs] == ["layers.0.linear1"]
    assert found.refused["layers.1.linear1"].startswith(f"layers.1.{part} has a forward hook")
    with pytest.raises(NotDefinedError, match=r"'layers\.1\.linear1' cannot be narrowed: .* forward hook"):
        find_pairs(model, ["layers.1.linear1"])


def test_activations_are_smooth_or_kinked_as_advise_has_them() -> None:
    for names_, smooth in ((SMOOTH, True), (KINKED, False)):
        for name in set(names_) - {"smooth", "prelu"}:
            assert ELEMENTWISE[name.replace("_", "")] is smooth


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
    with pytest.raises(NotDefinedError, match=r"'blocks\.0\.2' cannot be narrowed: no layer reads"):
        wn.narrow(model, 4, layers=["blocks.0.2"])


def test_names() -> None:
    model = wn.models.build("mlp", classes=3, shape=(5,))
    with pytest.raises(UnknownNameError, match="nearest: 'linear1'"):
        wn.narrow(model, 4, layers=["linear11"])
    with pytest.raises(UnknownNameError, match="unknown name in width of narrow: 'linaer1'"):
        wn.narrow(model, {"linaer1": 4})
    with pytest.raises(InputError, match=r"layers of narrow must name at least one layer; got an empty list\."):
        wn.narrow(model, 4, layers=[])
    with pytest.raises(InputError, match="layers of narrow must be names of layers, in a list"):
        wn.narrow(model, 4, layers="linear1")
    with pytest.raises(NotDefinedError, match="'head' cannot be narrowed: no layer reads"):
        wn.narrow(model, 4, layers=["head"])


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_weights_that_are_not_there_yet() -> None:
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.Linear(8, 2))
    with pytest.raises(InputError, match=r"hold its weights, but 0\.weight has no shape yet; run the model once\."):
        wn.narrow(model, 4)
    model(torch.zeros(1, 3))
    assert names(model) == [("0", "2", 8)]
