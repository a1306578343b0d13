"""The kernel against brute force: full K x K blocks of the tangent kernel in float64, for every kind and layer."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev

import winnow as wn
from winnow.core.errors import InputError, UnknownNameError
from winnow.methods.lpntk.kernel import KINDS, features, gram

CLASSES = 10


def blocks(model, x):
    """The tangent kernel's K x K block of every pair, literally: n x n x K x K."""
    net = copy.deepcopy(model).double().eval()
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    buffers = dict(net.named_buffers())
    x = x.double() if x.is_floating_point() else x
    jacobians = []
    for one in x:
        found = jacrev(lambda p, one=one: functional_call(net, {**p, **buffers}, (one.unsqueeze(0),))[0])(parameters)
        jacobians.append(torch.cat([j.flatten(1) for j in found.values()], 1))
    return torch.einsum("ikp,jlp->ijkl", torch.stack(jacobians), torch.stack(jacobians))


def signs(kind, model, x, y, classes):
    true = torch.nn.functional.one_hot(y, classes).double()
    if kind == "lpntk":
        return 2 * true - 1
    if kind == "pntk":
        return torch.ones_like(true)
    if kind == "forgetting":
        return true * (classes - 1) / classes - (1 - true) / classes
    net = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        return true - net(x.double() if x.is_floating_point() else x).softmax(1)


def brute(kind, model, x, y, classes=CLASSES):
    s = signs(kind, model, x, y, classes)
    return (torch.einsum("ik,ijkl,jl->ij", s, blocks(model, x), s) / classes).numpy()


def some(shape, n=5, classes=CLASSES, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(n, *shape, generator=draw), torch.randint(0, classes, (n,), generator=draw)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "shape"), [("mlp", (1, 8, 8)), ("lenet5", (1, 28, 28))])
def test_equals_full_blocks(name, shape, kind):
    model, (x, y) = wn.models.build(name, classes=CLASSES, shape=shape, seed=1), some(shape)
    exact = brute(kind, model, x, y)
    np.testing.assert_allclose(
        gram(model, x, y, kind, dtype="float64"), exact, rtol=1e-9, atol=1e-12 * abs(exact).max()
    )
    assert abs(gram(model, x, y, kind) - exact).max() < 1e-6 * abs(exact).max()


def test_equals_full_blocks_on_a_resnet():
    model, (x, y) = wn.models.build("resnet20", classes=CLASSES, shape=(3, 32, 32), seed=1), some((3, 32, 32), n=3)
    draw = torch.Generator().manual_seed(0)  # with some draws a unit is zero within the rounding of float32
    model.train()(torch.randn(8, 3, 32, 32, generator=draw))  # running averages that are not those of the start
    exact = brute("lpntk", model, x, y)
    np.testing.assert_allclose(gram(model, x, y, dtype="float64"), exact, rtol=1e-9)
    assert abs(gram(model, x, y) - exact).max() < 2e-6 * abs(exact).max()
    assert model.training


class Everything(nn.Module):
    """Tokens, a table, attention, norms of all kinds, a layer used twice, a tied one, and a bare parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, 8, padding_idx=0)
        self.place = nn.Parameter(0.1 * torch.randn(6, 8))
        self.block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        self.grouped = nn.Conv1d(8, 8, 3, padding=1, groups=2, dilation=1)
        self.norm = nn.GroupNorm(2, 8)
        self.twice = nn.Linear(8, 8)
        self.first, self.tied = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.tied.weight = self.first.weight
        self.last = nn.Sequential(nn.LayerNorm(8), nn.ReLU(inplace=True), nn.Linear(8, 3))

    def forward(self, tokens):
        h = self.block(self.table(tokens) + self.place)
        h = self.norm(self.grouped(h.transpose(1, 2))).transpose(1, 2)
        h = self.tied(torch.tanh(self.first(self.twice(torch.relu(self.twice(h))))))
        return self.last(h.mean(1))


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # of the brute force
@pytest.mark.parametrize("kind", ["lpntk", "error"])
def test_every_layer_and_the_long_way(kind):
    torch.manual_seed(0)
    model = Everything()
    x, y = torch.randint(0, 12, (5, 6)), torch.tensor([0, 1, 2, 1, 0])
    with pytest.warns(UserWarning, match="by torch.func, which is exact"):
        found = gram(model, x, y, kind, dtype="float64")
    np.testing.assert_allclose(found, brute(kind, model, x, y, 3), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(2, 4, 3, stride=2, padding=1),
        nn.Conv2d(2, 4, 3, padding="same"),
        nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"),
        nn.Conv2d(2, 4, (3, 1), dilation=(2, 1), bias=False),
        nn.ConvTranspose2d(2, 4, 3),
        nn.BatchNorm2d(2),
        nn.BatchNorm2d(2, affine=False),
        nn.InstanceNorm2d(2, affine=True),
        nn.LayerNorm([2, 7, 7]),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*without a fast path:UserWarning")
def test_layers_of_images(layer):
    torch.manual_seed(0)
    model = nn.Sequential(layer, nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(3))
    x, y = some((2, 7, 7), n=4, classes=3)
    model(x)
    np.testing.assert_allclose(
        gram(model, x, y, dtype="float64"), brute("lpntk", model, x, y, 3), rtol=1e-8, atol=1e-12
    )


def test_a_last_layer_alone_is_analytic():
    """With features g, bias and K classes: (g . g' + 1) times 1 for the same class and (K - 4) / K for others."""
    model, (x, y) = nn.Linear(6, CLASSES), some((6,), n=8)
    same = (y[:, None] == y[None]).double().numpy()
    inner = (x.double() @ x.double().T).numpy() + 1
    expected = inner * (same + (1 - same) * (CLASSES - 4) / CLASSES)
    np.testing.assert_allclose(gram(model, x, y, dtype="float64"), expected, rtol=1e-10)


def test_features_are_the_kernels_roots():
    model, (x, y) = wn.models.build("lenet5", classes=CLASSES, shape=(1, 28, 28)), some((1, 28, 28), n=7)
    rows = features(model, x, y, dtype="float64")
    assert rows.shape == (7, sum(p.numel() for p in model.parameters()))
    np.testing.assert_allclose(rows @ rows.T, gram(model, x, y, dtype="float64"), rtol=1e-10)


def test_blocks_and_files_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("winnow.methods.lpntk.kernel_panels.BATCH", 8)
    model, (x, y) = wn.models.build("mlp", classes=CLASSES, shape=(1, 8, 8)), some((1, 8, 8), n=53)
    whole = gram(model, x, y, dtype="float64")
    monkeypatch.setattr("winnow.methods.lpntk.gradient_factors.CHUNK", 64)
    small = gram(model, x, y, dtype="float64", memory=1 << 20, out=tmp_path / "kernel.npy")
    np.testing.assert_allclose(small, whole, rtol=1e-12)
    assert isinstance(small, np.memmap)
    np.testing.assert_array_equal(np.load(tmp_path / "kernel.npy"), small)


def test_projected_features_keep_inner_products():
    model, (x, y) = wn.models.build("lenet5", classes=CLASSES, shape=(1, 28, 28)), some((1, 28, 28), n=30)
    exact = gram(model, x, y, dtype="float64")
    norms = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    several = [gram(model, x, y, project=256, seed=seed, dtype="float64") for seed in range(12)]
    off = np.array([((one - exact) / norms)[np.triu_indices(30)] for one in several])
    spread = 1.5 / math.sqrt(256)  # a count sketch's standard deviation is at most sqrt(2 / p) of the norms
    assert np.abs(off.mean(0)).max() < 4.5 * spread / math.sqrt(12)
    assert off.std() < spread
    rows = features(model, x, y, project=256, seed=3, dtype="float64")
    assert rows.shape == (30, 256)
    np.testing.assert_allclose(rows @ rows.T, several[3], rtol=1e-10)


def test_the_network_is_left_alone():
    model, (x, y) = wn.models.build("mlp", classes=CLASSES, shape=(1, 8, 8)), some((1, 8, 8))
    for p in list(model.parameters())[:2]:
        p.requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    model.train()
    gram(model, x, y)
    assert model.training
    assert [p.requires_grad for p in model.parameters()][:3] == [False, False, True]
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def nan_model():
    model = wn.models.build("mlp", classes=CLASSES, shape=(1, 8, 8))
    with torch.no_grad():
        next(iter(model.parameters())).fill_(math.nan)
    return model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"y": [0, 1, 2, 3, 10]},
            "y of gram must lie in 0 to 9, the classes that the model has logits for; got 0 to",
        ),
        ({"y": [0, 1, 2, 3, -1]}, "y of gram must lie in"),
        ({"y": [0, 1]}, "y of gram must have 5 rows"),
        ({"y": [0.5] * 5}, "y of gram must be integers"),
        ({"x": torch.zeros(1, 1, 8, 8), "y": [0]}, "x of gram must hold at least 2 example(s)"),
        ({"x": torch.full((5, 1, 8, 8), math.nan)}, "x of gram must be finite"),
        ({"model": nan_model()}, "kernel of gram must be finite"),
        ({"model": "lenet5"}, "model of gram must be a torch module; got str."),
        ({"model": nn.Flatten()}, "model of gram must have parameters"),
        ({"model": nn.Sequential(nn.Flatten(), nn.Linear(64, 1))}, "must give one logit per class, at least two"),
        ({"memory": 3}, "memory of gram"),
        ({"project": 0}, "project of features"),
    ],
)
def test_bad_input_is_refused(change, words):
    x, y = some((1, 8, 8))
    given = {"model": wn.models.build("mlp", classes=CLASSES, shape=(1, 8, 8)), "x": x, "y": y, **change}
    with pytest.raises(InputError) as caught:
        gram(**given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_kind_is_refused_with_the_nearest():
    x, y = some((1, 8, 8))
    with pytest.raises(UnknownNameError, match="nearest: 'pntk'"):
        gram(wn.models.build("mlp", classes=CLASSES, shape=(1, 8, 8)), x, y, "ntk")
