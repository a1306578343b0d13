from __future__ import annotations

import builtins
import copy

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import winnow as wn
from winnow.core.errors import MissingDependencyError
from winnow.models import NETWORKS, build, choose


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def same(a: nn.Module, b: nn.Module) -> bool:
    one, two = a.state_dict(), b.state_dict()
    return list(one) == list(two) and all(torch.equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_works_in_its_natural_shape(name: str) -> None:
    model = wn.models.build(name, classes=7)
    assert model(torch.randn(2, *NETWORKS[name].shape)).shape == (2, 7)


@pytest.mark.parametrize(("name", "parameters"), [("lenet5", 61_706), ("resnet20", 269_722), ("resnet56", 853_018)])
def test_sizes_are_the_published_ones(name: str, parameters: int) -> None:
    assert count(build(name, classes=10)) == parameters


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mlp", (5,)),
        ("mlp", (2, 3, 4, 5)),
        ("lenet5", (3, 12, 40)),
        ("convnet", (1, 8, 8)),
        ("convnet", (2, 2, 3)),
        ("convnet", (3, 64, 64)),
        ("convnet", (3, 9, 33)),
        ("resnet20", (1, 28, 28)),
        ("resnet20", (4, 5, 7)),
    ],
)
def test_networks_adapt_to_other_shapes(name: str, shape: tuple[int, ...]) -> None:
    model = build(name, classes=3, shape=shape)
    output = model(torch.randn(4, *shape))
    assert output.shape == (4, 3)
    output.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_options_change_the_network() -> None:
    assert count(build("mlp", classes=2, shape=(3,), hidden=())) == 8
    assert count(build("mlp", classes=2, shape=(3,), hidden=[5])) == 3 * 5 + 5 + 5 * 2 + 2
    assert build("convnet", classes=2, width=8).head.in_features == 32
    assert build("convnet", classes=2).head.in_features == 128
    assert build("convnet", classes=2, shape=(1, 8, 8)).head.in_features == 64
    assert build("resnet20", classes=2, width=3)(torch.randn(2, 3, 8, 8)).shape == (2, 2)


@pytest.mark.parametrize("name", ["mlp", "lenet5", "convnet", "resnet20", "torchvision:resnet18", "timm:resnet18"])
def test_the_seed_alone_decides_the_weights(name: str) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = build(name, classes=4, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert same(first, build(name, classes=4, seed=3))
    assert not same(first, build(name, classes=4, seed=4))


@pytest.mark.parametrize(
    ("shape", "kind", "expected"),
    [
        ((30,), "table", "mlp"),
        ((30,), "tensor", "mlp"),
        ((5, 6), "tensor", "mlp"),
        ((1, 1, 90), "tensor", "mlp"),
        ((1, 8, 8), "image", "convnet"),
        ((1, 11, 30), "tensor", "convnet"),
        ((1, 12, 12), "image", "lenet5"),
        ((1, 28, 28), "image", "lenet5"),
        ((1, 40, 40), "image", "lenet5"),
        ((1, 41, 28), "image", "convnet"),
        ((3, 32, 32), "image", "convnet"),
        ((1, 64, 64), "image", "convnet"),
    ],
)
def test_auto_chooses_by_shape(shape: tuple[int, ...], kind: str, expected: str) -> None:
    assert choose(shape, kind, 10) == expected
    assert build("auto", classes=2, shape=shape)(torch.randn(2, *shape)).shape == (2, 2)


def test_resnet_shortcuts_have_no_parameters_and_pad_evenly() -> None:
    model = build("resnet20", classes=10)
    keys = [key for key in model.state_dict() if "num_batches" not in key]
    assert len(keys) == 97
    assert {key.split(".")[0] for key in keys} == {"conv1", "bn1", "layer1", "layer2", "layer3", "linear"}
    block = model.layer2[0].eval()
    nn.init.zeros_(block.conv2.weight)  # only the shortcut is left
    x = torch.rand(1, 16, 6, 6)
    out = block(x)
    assert torch.equal(out[:, 8:24], x[:, :, ::2, ::2])
    assert not out[:, :8].any()
    assert not out[:, 24:].any()


def test_a_module_is_copied_and_started_afresh() -> None:
    mine = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    before = copy.deepcopy(mine)
    first, again, other = (build(mine, classes=3, shape=(4,), seed=s) for s in (0, 0, 1))
    assert same(first, again)
    assert not same(first, other)
    assert not same(first, mine)
    assert same(mine, before)
    assert same(build(mine, classes=3, fresh=False), mine)
    assert build(mine, classes=3, fresh=False) is not mine


def test_attention_can_be_started_afresh() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    assert not same(build(layer, classes=8, seed=0), build(layer, classes=8, seed=1))


def test_a_parent_has_the_last_word_on_its_children() -> None:
    class Parent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)
            self.extra = nn.ParameterList([nn.Parameter(torch.zeros(2))])

        def reset_parameters(self) -> None:
            nn.init.constant_(self.inner.weight, 5)
            nn.init.constant_(self.extra[0], 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) + self.extra[0]

    fresh = build(Parent(), classes=2)
    assert torch.equal(fresh.inner.weight, torch.full((2, 2), 5.0))
    assert torch.equal(fresh.extra[0], torch.full((2,), 6.0))


def test_a_factory_is_called_under_the_seed() -> None:
    def make() -> nn.Module:
        return nn.Linear(4, 2)

    state = torch.get_rng_state()
    assert same(build(make, classes=2, seed=5), build(make, classes=2, seed=5))
    assert not same(build(make, classes=2, seed=5), build(make, classes=2, seed=6))
    assert torch.equal(torch.get_rng_state(), state)


def test_weights_are_loaded_from_safetensors_and_torch_files(tmp_path: pytest.TempPathFactory) -> None:
    trained = build("resnet20", classes=5, width=4, seed=9)
    state = {key: value for key, value in trained.state_dict().items() if "num_batches" not in key}
    save_file(state, tmp_path / "w.safetensors")
    torch.save(state, tmp_path / "w.pt")
    torch.save({"state_dict": {f"module.{key}": value for key, value in state.items()}}, tmp_path / "w.th")
    for name in ("w.safetensors", "w.pt", "w.th"):
        assert same(build("resnet20", classes=5, width=4, weights=tmp_path / name), trained)
        assert same(build("resnet20", classes=5, width=4, weights=str(tmp_path / name)), trained)


@pytest.mark.parametrize("name", ["torchvision:squeezenet1_1", "timm:mobilenetv3_small_050"])
@pytest.mark.parametrize("channels", [1, 3])
def test_bridged_networks_fit_classes_and_channels(name: str, channels: int) -> None:
    model = build(name, classes=6, shape=(channels, 64, 64))
    assert model.training
    assert model.eval()(torch.randn(2, channels, 64, 64)).shape == (2, 6)


def test_networks_with_auxiliary_heads_give_one_tensor_while_training() -> None:
    model = build("torchvision:googlenet", classes=3, shape=(3, 64, 64)).train()
    assert model(torch.randn(2, 3, 64, 64)).shape == (2, 3)


def test_options_reach_bridged_networks() -> None:
    model = build("timm:vit_tiny_patch16_224", classes=3, shape=(3, 32, 32), img_size=32, depth=1, pretrained=False)
    assert len(model.blocks) == 1


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_missing_library_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=rf"needs {library}; install .*winnow-data\[vision\]"):
        build(f"{library}:resnet18", classes=2)
