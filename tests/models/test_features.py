from __future__ import annotations

import pytest
import torch
from torch import nn

from winnow.models import build, eval_mode, feature_layer, features_of

HEADS = [
    ("mlp", (6,), "head", 128),
    ("lenet5", (1, 28, 28), "head", 84),
    ("convnet", (1, 8, 8), "head", 64),
    ("resnet20", (3, 16, 16), "linear", 64),
    ("torchvision:resnet18", (3, 32, 32), "fc", 512),
    ("torchvision:squeezenet1_1", (3, 64, 64), "classifier.1", 512),
    ("timm:resnet18", (1, 32, 32), "fc", 512),
    ("timm:mobilenetv3_small_050", (3, 32, 32), "classifier", 1024),
]


@pytest.mark.parametrize(("name", "shape", "layer", "size"), HEADS)
def test_the_head_is_found_and_its_input_fetched(name: str, shape: tuple[int, ...], layer: str, size: int) -> None:
    model = build(name, classes=5, shape=shape).eval()
    x = torch.randn(3, *shape)
    assert feature_layer(model) == layer
    features = features_of(model, x)
    assert features.shape == (3, size)
    head = model.get_submodule(layer)
    if isinstance(head, nn.Linear):
        assert torch.allclose(head(features), model(x), atol=1e-5)


def test_vision_transformers_have_their_head_found() -> None:
    model = build("timm:vit_tiny_patch16_224", classes=3, shape=(3, 32, 32), img_size=32, depth=1).eval()
    assert feature_layer(model) == "head"
    assert features_of(model, torch.randn(2, 3, 32, 32)).shape == (2, 192)
    assert features_of(model, torch.randn(2, 3, 32, 32), "blocks.0").shape == (2, 5 * 192)


def test_a_named_layer_gives_its_output_with_maps_averaged() -> None:
    model = build("lenet5", classes=10).eval()
    x = torch.randn(2, 1, 28, 28)
    maps = model.relu1(model.pool1(model.conv1(x)))
    assert torch.allclose(features_of(model, x, "relu1"), maps.mean((2, 3)))
    assert torch.allclose(features_of(model, x, "head"), model(x))


def test_gradients_flow_and_hooks_are_removed() -> None:
    model = build("mlp", classes=2, shape=(3,))
    features_of(model, torch.randn(2, 3)).sum().backward()
    assert model.linear1.weight.grad is not None
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())


def test_hooks_are_removed_even_if_the_model_fails() -> None:
    model = build("mlp", classes=2, shape=(3,))
    with pytest.raises(RuntimeError):
        features_of(model, torch.randn(2, 4))
    assert not model.head._forward_pre_hooks


def test_a_bare_linear_layer_gives_its_output() -> None:
    x, layer = torch.randn(2, 3), nn.Linear(3, 2)
    assert torch.equal(features_of(layer, x), layer(x))


def test_eval_mode_gives_each_layer_its_mode_back() -> None:
    model = build("convnet", classes=2).train()
    model.norm1.eval()
    with eval_mode(model):
        assert not any(module.training for module in model.modules())
    assert model.training
    assert model.norm2.training
    assert not model.norm1.training
