"""The space of small networks: names that build takes, networks that differ, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import winnow as wn
from winnow.core.errors import WinnowError
from winnow.models import build, small_networks
from winnow.models.identity import describe


def layers(model: nn.Module) -> list[str]:
    return [type(layer).__name__ for layer in model.children()]


def test_the_usual_space_has_36_networks_that_all_differ() -> None:
    names = small_networks()
    assert len(names) == len(set(names)) == 36
    assert wn.models.small_networks is small_networks
    assert len({repr(build(name, classes=10, shape=(1, 28, 28))) for name in names}) == 36


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 8, 8), (2, 5, 9), (1, 2, 2)])
@pytest.mark.parametrize("stride", [1, 2])
def test_every_network_fits_the_shape(shape: tuple[int, ...], stride: int) -> None:
    for name in small_networks(stride=stride):
        model = build(name, classes=4, shape=shape)
        output = model(torch.randn(3, *shape))
        assert output.shape == (3, 4), name
        output.sum().backward()
        assert all(p.grad is not None for p in model.parameters())


def test_options_do_what_they_say() -> None:
    def made(text: str) -> nn.Module:
        return build(f"smallconv:{text}", classes=2, shape=(1, 16, 16))

    conv = made("depth=3,width=5,kernel=7,pooling=stride,norm=none,activation=tanh")
    assert layers(conv) == ["Conv2d", "Tanh"] * 3 + ["Flatten", "Linear"]
    assert [layer.out_channels for layer in conv if isinstance(layer, nn.Conv2d)] == [5, 10, 20]
    assert [layer.stride for layer in conv if isinstance(layer, nn.Conv2d)] == [(2, 2)] * 3
    assert conv[0].kernel_size == (7, 7)
    assert layers(made("depth=1,pooling=average")) == [
        "Conv2d", "BatchNorm2d", "ReLU", "AvgPool2d", "Flatten", "Linear",
    ]  # fmt: skip
    assert layers(made("depth=1,pooling=max,norm=none")) == ["Conv2d", "MaxPool2d", "ReLU", "Flatten", "Linear"]
    assert made("depth=1,stride=2").head.in_features == 8 * 4 * 4


def test_a_name_holds_its_options_whatever_the_network() -> None:
    by_name = build("convnet:width=4", classes=2, seed=3).state_dict()
    by_option = build("convnet", classes=2, seed=3, width=4).state_dict()
    assert all(torch.equal(by_name[key], by_option[key]) for key in by_option)
    assert build("mlp:hidden=[6,5]", classes=2, shape=(4,)).linear2.weight.shape == (5, 6)
    assert describe("convnet:width=4") != describe("convnet:width=8")


def test_only_what_varies_is_named() -> None:
    names = small_networks(depths=[2], widths=[4], kernels=[3, 5], poolings=["max"], norms=["batch"], stride=2)
    assert names == tuple(f"smallconv:depth=2,width=4,kernel={k},pooling=max,norm=batch,stride=2" for k in (3, 5))
    tanh = small_networks(depths=[1], widths=[4], activations=["tanh"], poolings=["max"], norms=["none"])
    assert tanh == ("smallconv:depth=1,width=4,activation=tanh,pooling=max,norm=none",)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: build("smallconv:depth=0", classes=2), "depth of network 'smallconv' must be .* at least 1; got 0"),
        (lambda: build("smallconv:kernel=4", classes=2), "kernel of network 'smallconv' must be odd.*; got 4"),
        (lambda: build("smallconv:pooling=median", classes=2), "pooling of network 'smallconv'"),
        (lambda: build("smallconv:dept=2", classes=2), "option of network 'smallconv'.*'depth'"),
        (lambda: build("smallconv:depth", classes=2), "must be option=value, each once; got 'smallconv:depth'"),
        (lambda: build("smallconv:depth=1,depth=2", classes=2), "each once"),
        (lambda: build("smallcnov:depth=1", classes=2), "smallcnov"),
        (lambda: build("smallconv:depth=40", classes=2), "network 'smallconv:depth=40' is too large to be made"),
        (lambda: build("convnet:width=" + "9" * 30, classes=2), "is too large to be made"),
        (lambda: build("convnet", classes=2, width=10**30), "network 'convnet' is too large to be made"),
        (lambda: build("convnet:width=" + "[" * 100_000, classes=2), "width of network 'convnet' must be"),
        (lambda: build("convnet:width=", classes=2), "width of network 'convnet' must be .*; got ''"),
        (lambda: build("convnet:width=__import__('os')", classes=2), "width of network 'convnet' must be"),
        (lambda: build("convnet:width=null", classes=2), "width of network 'convnet' must be .*; got 'null'"),
        (lambda: build("smallconv", classes=2, shape=(9,)), "shape of network 'smallconv'"),
        (lambda: small_networks(depths=[]), "depths of small_networks must hold at least one"),
        (lambda: small_networks(widths=[4, 4]), "each once"),
        (lambda: small_networks(widths=4), "widths of small_networks must be a sequence"),  # type: ignore[arg-type]
        (lambda: small_networks(activations="relu"), "activations of small_networks must be a sequence"),
        (lambda: small_networks(norms=["layer"]), "norms of small_networks"),
    ],
)
def test_refusals(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(WinnowError, match=words):
        ask()
