"""ResNets in the CIFAR layout: three groups of n basic blocks of w, 2w and 4w features, depth 6n + 2.

Shortcuts are of option A: where a group halves the image, the shortcut takes every second pixel and pads the new
channels with zeros, half of them on either side, so that it has no parameters. Parameter names (`conv1`, `bn1`,
`layer1.0.conv1`, ..., `linear`) are those of the usual CIFAR checkpoints.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from ..core import checks, registry
from .networks import image_shape

__all__ = ["resnet20", "resnet56"]


class Block(nn.Module):
    """Two 3 x 3 convolutions and a parameter-free shortcut."""

    def __init__(self, channels: int, features: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(features)
        self.stride = stride
        self.before = (features - channels) // 2
        self.after = features - channels - self.before

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Residual and shortcut, added and rectified."""
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.stride != 1 or self.before or self.after:
            x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.before, self.after))
        return functional.relu(out + x)


class ResNet(nn.Module):
    """Three groups of blocks, a global average, a linear head."""

    def __init__(self, classes: int, channels: int, blocks: int, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = _group(width, width, blocks, 1)
        self.layer2 = _group(width, 2 * width, blocks, 2)
        self.layer3 = _group(2 * width, 4 * width, blocks, 2)
        self.linear = nn.Linear(4 * width, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits."""
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        logits: torch.Tensor = self.linear(out.mean((2, 3)))
        return logits


def _group(channels: int, features: int, blocks: int, stride: int) -> nn.Sequential:
    first = Block(channels, features, stride)
    return nn.Sequential(first, *(Block(features, features, 1) for _ in range(blocks - 1)))


@registry.network(shape=(3, 32, 32), paper="He et al. 2016")
def resnet20(classes: int, shape: tuple[int, ...], *, width: int = 16) -> nn.Module:
    """ResNet with 20 layers for small images: about 270,000 parameters."""
    return _resnet("resnet20", classes, shape, 3, width)


@registry.network(shape=(3, 32, 32), paper="He et al. 2016")
def resnet56(classes: int, shape: tuple[int, ...], *, width: int = 16) -> nn.Module:
    """ResNet with 56 layers for small images: about 850,000 parameters."""
    return _resnet("resnet56", classes, shape, 9, width)


def _resnet(name: str, classes: int, shape: tuple[int, ...], blocks: int, width: int) -> nn.Module:
    channels, _, _ = image_shape(name, shape, smallest=4)
    checks.integer("width", f"network {name!r}", width, low=1)
    return ResNet(classes, channels, blocks, width)
