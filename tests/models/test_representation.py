"""Which layer and how many numbers represent an example, over architectures with a head and without one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import timm
import torch
import torchvision
import transformers
from torch import nn

import winnow as wn
from winnow.models import build, features_of, representation

SIDE = 32
VIT = {"img_size": SIDE, "depth": 2}


def bare(name: str, head: str, **options: object) -> nn.Module:
    """A network of torchvision whose head is the identity."""
    network = torchvision.models.get_model(name, weights=None, num_classes=5, **options)
    network.set_submodule(head, nn.Identity())
    return network


def bert(**options: object) -> transformers.BertConfig:
    small = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return transformers.BertConfig(vocab_size=50, **{**small, **options})


def vit() -> transformers.ViTConfig:
    return transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=SIDE, patch_size=16
    )


def plain(*last: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 7, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), *last)


Make = Callable[[], nn.Module]
WITH_HEAD: list[tuple[str, Make, str, int]] = [
    ("timm resnet18", lambda: timm.create_model("resnet18", num_classes=5), "fc", 512),
    ("timm vit_tiny", lambda: timm.create_model("vit_tiny_patch16_224", num_classes=5, **VIT), "head", 192),
    ("timm efficientnet_lite0", lambda: timm.create_model("efficientnet_lite0", num_classes=5), "classifier", 1280),
    ("timm mobilenetv3", lambda: timm.create_model("mobilenetv3_small_050", num_classes=5), "classifier", 1024),
    ("timm convnext_atto", lambda: timm.create_model("convnext_atto", num_classes=5), "head.fc", 320),
    ("timm regnetx_002", lambda: timm.create_model("regnetx_002", num_classes=5), "head.fc", 368),
    ("timm mixer", lambda: timm.create_model("mixer_s32_224", num_classes=5, img_size=SIDE), "head", 512),
    ("torchvision resnet18", lambda: torchvision.models.resnet18(num_classes=5), "fc", 512),
    ("torchvision mobilenet", lambda: torchvision.models.mobilenet_v3_small(num_classes=5), "classifier.3", 1024),
    ("torchvision densenet121", lambda: torchvision.models.densenet121(num_classes=5), "classifier", 1024),
    ("torchvision squeezenet", lambda: torchvision.models.squeezenet1_1(num_classes=5), "classifier.1", 512),
    ("winnow lenet5", lambda: build("lenet5", classes=5, shape=(3, SIDE, SIDE)), "head", 84),
    ("winnow convnet", lambda: build("convnet", classes=5), "head", 128),
    ("winnow resnet20", lambda: build("resnet20", classes=5), "linear", 64),
    ("transformers ViT", lambda: transformers.ViTForImageClassification(vit()), "classifier", 24),
    ("plain", lambda: plain(nn.Linear(7, 5)), "4", 7),
    ("plain, log-softmax", lambda: plain(nn.Linear(7, 5), nn.LogSoftmax(1)), "4", 7),
    ("plain, softmax", lambda: plain(nn.Linear(7, 5), nn.Softmax(1)), "4", 7),
]
HEADLESS: list[tuple[str, Make, int]] = [
    ("timm resnet18", lambda: timm.create_model("resnet18", num_classes=0), 512),
    ("timm vit_tiny", lambda: timm.create_model("vit_tiny_patch16_224", num_classes=0, **VIT), 192),
    ("timm efficientnet_lite0", lambda: timm.create_model("efficientnet_lite0", num_classes=0), 1280),
    ("timm mobilenetv3", lambda: timm.create_model("mobilenetv3_small_050", num_classes=0), 1024),
    ("timm convnext_atto", lambda: timm.create_model("convnext_atto", num_classes=0), 320),
    ("timm regnetx_002", lambda: timm.create_model("regnetx_002", num_classes=0), 368),
    ("timm mixer", lambda: timm.create_model("mixer_s32_224", num_classes=0, img_size=SIDE), 512),
    ("torchvision resnet18", lambda: bare("resnet18", "fc"), 512),
    ("torchvision mobilenet", lambda: bare("mobilenet_v3_small", "classifier"), 576),
    ("torchvision densenet121", lambda: bare("densenet121", "classifier"), 1024),
    ("torchvision vit", lambda: _torchvision_vit(), 48),
    ("plain", plain, 7),
    ("plain, ReLU last", lambda: plain(nn.Linear(7, 4), nn.ReLU()), 4),
    ("plain, norm last", lambda: plain(nn.Linear(7, 4), nn.LayerNorm(4)), 4),
]


def _torchvision_vit() -> nn.Module:
    small = torchvision.models.VisionTransformer(SIDE, 16, 1, 2, 48, 64, num_classes=5)
    small.heads = nn.Identity()
    return small


@pytest.mark.parametrize(("make", "layer", "width"), [row[1:] for row in WITH_HEAD], ids=[row[0] for row in WITH_HEAD])
def test_a_network_with_a_head_is_represented_by_what_enters_it(make: Make, layer: str, width: int) -> None:
    torch.manual_seed(0)
    side = 64 if layer == "classifier.1" else SIDE  # squeezenet needs larger images
    model, x = make().eval(), torch.randn(2, 3, side, side)
    found = representation(model, x)
    assert (found.layer, found.side, found.width) == (layer, "input", width)
    head = model.get_submodule(layer)
    if isinstance(head, nn.Linear):
        with torch.no_grad():
            output = model(x)
            torch.testing.assert_close(_logits(head(found(model, x)), model), getattr(output, "logits", output))


def _logits(given: torch.Tensor, model: nn.Module) -> torch.Tensor:
    after = list(model.children())[-1]
    return after(given) if isinstance(after, nn.LogSoftmax | nn.Softmax) else given


@pytest.mark.parametrize(("make", "width"), [row[1:] for row in HEADLESS], ids=[row[0] for row in HEADLESS])
def test_a_network_without_a_head_is_its_own_forward_in_embed_and_in_relabel(make: Make, width: int) -> None:
    torch.manual_seed(0)
    model = make().eval()
    pixels = np.random.default_rng(0).integers(0, 256, (5, 3, SIDE, SIDE), dtype=np.uint8)
    source = wn.open(pixels)
    scaled = (torch.from_numpy(pixels).float() / 255 - 0.5) / 0.25
    how = {"mean": [0.5] * 3, "std": [0.25] * 3}
    with torch.no_grad():
        wanted = model(scaled).numpy()
    embedded = wn.embed(source, model, **how)
    assert wanted.shape == (5, width)
    np.testing.assert_allclose(embedded.embeddings, wanted, rtol=1e-6, atol=1e-6)
    assert embedded.provenance["parameters"]["taken"] == {
        "layer": "",
        "side": "output",
        "width": width,
        "pooling": "none",
    }
    made = wn.relabel.targets(source, model, 2, **how)
    assert made.provenance["parameters"]["taken"] == embedded.provenance["parameters"]["taken"]


def test_embed_and_relabel_take_the_same_of_a_network_with_a_head() -> None:
    source = wn.open(np.random.default_rng(0).integers(0, 256, (5, 3, SIDE, SIDE), dtype=np.uint8))
    model = timm.create_model("vit_tiny_patch16_224", num_classes=5, **VIT)
    one = wn.embed(source, model).provenance["parameters"]["taken"]
    assert one == wn.relabel.targets(source, model, 2).provenance["parameters"]["taken"]
    assert one == {"layer": "head", "side": "input", "width": 192, "pooling": "none"}


def test_transformers_encoders_give_their_pooled_output() -> None:
    model, x = transformers.ViTModel(vit()).eval(), torch.randn(2, 3, SIDE, SIDE)
    found = representation(model, x)
    assert (found.layer, found.width, found.pooling) == ("", 24, "pooler output")
    with torch.no_grad():
        torch.testing.assert_close(found(model, x), model(x).pooler_output)
    without, tokens = transformers.BertModel(bert(), add_pooling_layer=False).eval(), torch.randint(1, 50, (2, 6))
    found = representation(without, tokens)
    assert (found.width, found.pooling) == (24, "mean over tokens")
    with torch.no_grad():
        torch.testing.assert_close(found(without, tokens), without(tokens).last_hidden_state.mean(1))


def test_maps_are_averaged_and_sequences_are_refused() -> None:
    maps = nn.Conv2d(3, 6, 3)
    x = torch.randn(4, 3, 8, 8)
    found = representation(nn.Sequential(maps, nn.ReLU()), x)
    assert (found.width, found.pooling) == (6, "mean over the image")
    torch.testing.assert_close(features_of(nn.Sequential(maps, nn.ReLU()), x), maps(x).relu().mean((2, 3)))
    with pytest.raises(wn.errors.InputError, match=r"one vector per example.*a Flatten gave \(2, 3, 64\).*layer="):
        representation(nn.Flatten(2), x)


def test_a_layer_by_name_is_its_output_and_the_empty_name_the_output_of_the_network() -> None:
    model, x = build("lenet5", classes=10).eval(), torch.randn(2, 1, 28, 28)
    assert representation(model, x, "linear1").about() == {
        "layer": "linear1",
        "side": "output",
        "width": 120,
        "pooling": "none",
    }
    assert representation(model, x, "").width == 10
    torch.testing.assert_close(features_of(model, x, ""), model(x))


def test_a_relu_that_happens_to_change_nothing_is_no_head() -> None:
    encoder, x = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 4), nn.ReLU()), torch.ones(2, 3)
    with torch.no_grad():
        for part in (encoder[0], encoder[1]):
            part.weight.fill_(0.5)
            part.bias.fill_(1.0)  # positive everywhere, so the ReLU is not seen in the output
        assert torch.equal(encoder(x), encoder[1](encoder[0](x)))
    assert representation(encoder, x).sentence() == "4 numbers per example: the output of the network"
    in_place = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 4), nn.ReLU(inplace=True))
    assert representation(in_place, torch.randn(2, 3)).layer == ""
    assert representation(encoder[:2], x).sentence() == "5 numbers per example: the input of layer '1', the head"


def test_deciding_changes_nothing() -> None:
    model = build("convnet", classes=3).train()
    model.norm1.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    representation(model, torch.randn(4, 3, 32, 32))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.training
    assert not model.norm1.training
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
