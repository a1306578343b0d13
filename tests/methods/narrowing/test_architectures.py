"""Networks of many shapes: narrowed by equal neurons they compute the same, in every mode."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

import winnow as wn
from winnow.core.errors import NotDefinedError
from winnow.methods.narrowing import find_pairs, fold, restore


def twice(model: nn.Module) -> nn.Module:
    """The second half of every hidden vector that can be narrowed made a copy of the first half."""
    model = copy.deepcopy(model)
    for pair in find_pairs(model).pairs:
        first, second, half = model.get_submodule(pair.first), model.get_submodule(pair.second), pair.width // 2
        for layer in (first, *map(model.get_submodule, pair.norms)):
            for value in (*layer.parameters(), *layer.buffers()):
                if value.dim():
                    value.data[half : 2 * half] = value.data[:half]
        grouped = second.weight.data.view(second.weight.shape[0], pair.width, -1)
        grouped[:, half : 2 * half] = grouped[:, :half]
    return model


def torchvision(name: str) -> nn.Module:
    return wn.models.build(f"torchvision:{name}", classes=4, shape=(3, 64, 64))


def timm(name: str, **options: object) -> nn.Module:
    return wn.models.build(f"timm:{name}", classes=4, shape=(3, 32, 32), img_size=32, **options)


def sequence(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(*layers)


def seen(model: nn.Module, shape: tuple[int, ...] = (1, 28, 28)) -> nn.Module:
    """The model after batches whose statistics its norms have followed."""
    rng = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(8, *shape, generator=rng))
    return model


NETWORKS = {
    "lenet5": (lambda: wn.models.build("lenet5", classes=3), (1, 28, 28), 4),
    "conv1d": (lambda: sequence(nn.Conv1d(2, 6, 3), nn.GELU(), nn.AvgPool1d(2), nn.Conv1d(6, 2, 3)), (2, 12), 1),
    "conv3d": (lambda: sequence(nn.Conv3d(1, 6, 3, bias=False), nn.ELU(), nn.Conv3d(6, 2, 1)), (1, 4, 4, 4), 1),
    "average": (
        lambda: sequence(nn.Conv2d(3, 8, 3), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)),
        (3, 6, 6),
        1,
    ),
    "convnet": (lambda: seen(wn.models.build("convnet", classes=3, shape=(1, 28, 28), width=4)), (1, 28, 28), 4),
    "resnet": (lambda: seen(wn.models.build("resnet20", classes=3, shape=(3, 8, 8)), (3, 8, 8)), (3, 8, 8), 9),
    "norm after a mean": (
        lambda: sequence(
            nn.Conv2d(3, 8, 3), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(8), nn.Linear(8, 3)
        ),
        (3, 6, 6),
        1,
    ),
    "norm of a batch alone": (
        lambda: sequence(nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.GELU(), nn.Linear(8, 3)),
        (4,),
        1,
    ),
    "norm without scale": (
        lambda: sequence(nn.Conv1d(2, 8, 3), nn.BatchNorm1d(8, affine=False), nn.GELU(), nn.Conv1d(8, 3, 3)),
        (2, 9),
        1,
    ),
    "encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2),
        (5, 8),
        2,
    ),
    "gelu block": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True),
        (5, 8),
        1,
    ),
    "vit": (lambda: timm("vit_tiny_patch16_224", depth=2, embed_dim=24, patch_size=8), (3, 32, 32), 2),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_equal_neurons_are_merged_without_a_trace(name: str) -> None:
    make, shape, pairs = NETWORKS[name]
    torch.manual_seed(0)
    wide = twice(make().double())
    x = torch.randn(3, *shape, dtype=torch.float64)
    net = wn.narrow(wide, 0.5, example=x)
    assert len(net.narrowed.pairs) == pairs
    assert all(pair.after == pair.before // 2 and pair.order is None for pair in net.narrowed.pairs)
    assert net.narrowed.output_change < 1e-13 < net.narrowed.random_change
    assert net.narrowed.parameters_after < net.narrowed.parameters_before
    assert net.training == wide.training
    nets = [wide, net, fold(net), restore(make().double(), net.state_dict())]
    for each in nets:
        assert_same(each, wide, x)
    plain = nets[2]
    assert [type(layer) for layer in plain.modules()] == [type(layer) for layer in wide.modules()]


def assert_same(net: nn.Module, wide: nn.Module, x: Tensor) -> None:
    """In training mode, in eval mode, and where torch fuses what it can."""
    close = {"rtol": 0.0, "atol": 1e-12}
    net, wide = copy.deepcopy(net), copy.deepcopy(wide)  # batch norms move while they are looked at
    for mode in (True, False):
        torch.testing.assert_close(net.train(mode)(x), wide.train(mode)(x), **close)
    with torch.no_grad():
        torch.testing.assert_close(net(x), wide(x), **close)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")  # what torch itself does with the wide one
def test_torch_cannot_bypass_the_counts() -> None:
    wide = twice(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2)).eval()
    net = wn.narrow(wide, 8)
    x = torch.randn(3, 5, 8)
    padded = torch.arange(5)[None] >= torch.tensor([[5], [3], [2]])
    with torch.no_grad():
        for each in (net, copy.deepcopy(net), fold(net)):
            torch.testing.assert_close(each(x), wide(x), rtol=1e-4, atol=1e-5)
            seen = each(x, src_key_padding_mask=padded)
            torch.testing.assert_close(
                seen[~padded], wide(x, src_key_padding_mask=padded)[~padded], rtol=1e-4, atol=1e-5
            )
    assert fold(net).layers[0].activation_relu_or_gelu == 1


def test_the_decoder_too() -> None:
    wide = twice(nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double())
    net = wn.narrow(wide, 8)
    x, memory = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(net(x, memory), wide(x, memory), rtol=0, atol=1e-12)


def test_networks_with_other_norms_say_so() -> None:
    wide = sequence(nn.Conv2d(1, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.Conv2d(8, 2, 3))
    with pytest.raises(NotDefinedError, match=r"nothing to narrow: '0': a norm \(1\) comes between"):
        wn.narrow(wide, 8)


def with_dropout() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)).double()


def test_dropout_is_refused_kept_or_turned_off() -> None:
    wide = twice(with_dropout())
    x = torch.randn(6, 3, dtype=torch.float64)
    with pytest.raises(NotDefinedError, match=r"a dropout of 0\.5 after it .* dropout='off' .* dropout='keep'"):
        wn.narrow(wide, 4)
    kept, off = (wn.narrow(wide, 4, dropout=how) for how in ("keep", "off"))
    assert (kept[2].p, off[2].p, wide[2].p) == (0.5, 0.0, 0.5)
    for net in (kept, off):
        torch.testing.assert_close(net.eval()(x), wide.eval()(x))
    torch.testing.assert_close(off.train()(x), wide(x))
    again = restore(with_dropout(), off.state_dict(), dropout="off")
    torch.testing.assert_close(again.train()(x), wide(x))
    with pytest.raises(NotDefinedError, match="a dropout of"):
        restore(with_dropout(), off.state_dict())


def test_a_block_with_dropout() -> None:
    block = twice(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
    with pytest.raises(NotDefinedError, match=r"nothing to narrow: 'linear1': .*a dropout of 0\.1"):
        wn.narrow(block, 8)
    net = wn.narrow(block, 8, dropout="off")
    assert (net.dropout.p, net.dropout1.p) == (0.0, 0.1)


class Dropping(nn.Module):
    """A dropout that is a function call, or one module in two places."""

    def __init__(self, shared: bool) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 8), nn.Linear(8, 2)
        self.drop = nn.Dropout(0.5)
        self.shared = shared

    def forward(self, x: Tensor) -> Tensor:
        if self.shared:
            return self.b(self.drop(torch.relu(self.a(self.drop(x)))))
        return self.b(nn.functional.dropout(torch.relu(self.a(x)), 0.5, self.training))


@pytest.mark.parametrize("shared", [True, False])
def test_a_dropout_that_cannot_be_turned_off_alone(shared: bool) -> None:
    wide = twice(Dropping(shared))
    for how in ({}, {"layers": ["a"]}):
        with pytest.raises(NotDefinedError, match=r"cannot be turned off alone; pass dropout='keep'"):
            wn.narrow(wide, 4, dropout="off", **how)
    x = torch.randn(6, 3)
    torch.testing.assert_close(wn.narrow(wide, 4, dropout="keep").eval()(x), wide.eval()(x))
