"""The small reference networks: linear, mlp, lenet5, convnet. Each is a `Sequential` whose last layer is `head`.

A network function takes the number of outputs, the shape of one example and its own options by name; the options are
read from its signature. To add a network: write such a function under `@registry.network`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

from torch import nn

from ..core import checks, registry
from ..core.errors import InputError

__all__ = ["convnet", "image_shape", "lenet5", "linear", "mlp"]


@registry.network(shape=(784,))
def linear(classes: int, shape: tuple[int, ...]) -> nn.Module:
    """One linear layer on the flattened input, or on embeddings: the cheapest observer."""
    return mlp(classes, shape, hidden=())


@registry.network(shape=(784,))
def mlp(classes: int, shape: tuple[int, ...], *, hidden: Sequence[int] = (256, 128)) -> nn.Module:
    """Layers of ReLU units on the flattened input; without hidden layers, a linear model."""
    if isinstance(hidden, str) or not isinstance(hidden, Sequence):
        raise InputError(f"hidden of network 'mlp' must be a sequence of layer sizes; got {hidden!r}.")
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    size = math.prod(shape)
    for number, width in enumerate(hidden, 1):
        checks.integer("hidden", "network 'mlp'", width, low=1)
        layers[f"linear{number}"] = nn.Linear(size, width)
        layers[f"relu{number}"] = nn.ReLU()
        size = width
    layers["head"] = nn.Linear(size, classes)
    return nn.Sequential(layers)


@registry.network(shape=(1, 28, 28))
def lenet5(classes: int, shape: tuple[int, ...]) -> nn.Module:
    """LeNet-5 with ReLU and max pooling: 61,706 parameters on 1 x 28 x 28 with 10 classes."""
    channels, height, width = image_shape("lenet5", shape, smallest=12)
    rows, columns = (height // 2 - 4) // 2, (width // 2 - 4) // 2
    return nn.Sequential(
        OrderedDict[str, nn.Module](
            # Pooling first gives the same function (ReLU is monotone) with a quarter of the work for ReLU.
            conv1=nn.Conv2d(channels, 6, 5, padding=2),
            pool1=nn.MaxPool2d(2),
            relu1=nn.ReLU(),
            conv2=nn.Conv2d(6, 16, 5),
            pool2=nn.MaxPool2d(2),
            relu2=nn.ReLU(),
            flatten=nn.Flatten(),
            linear1=nn.Linear(16 * rows * columns, 120),
            relu3=nn.ReLU(),
            linear2=nn.Linear(120, 84),
            relu4=nn.ReLU(),
            head=nn.Linear(84, classes),
        )
    )


@registry.network(shape=(3, 32, 32))
def convnet(classes: int, shape: tuple[int, ...], *, width: int | None = None) -> nn.Module:
    """Four 3 x 3 convolutions with batch norm (w, 2w, 4w, 4w features) and a global average.

    The first three are followed by pooling by two, as long as at least two rows and columns remain, so that 8 x 8
    digits and 64 x 64 images both fit. If `width` is not given, images below 12 pixels start with 16 features, others
    with 32.
    """
    channels, rows, columns = image_shape("convnet", shape, smallest=2)
    side = min(rows, columns)
    if width is None:
        width = 16 if side < 12 else 32
    checks.integer("width", "network 'convnet'", width, low=1)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, features in enumerate((width, 2 * width, 4 * width, 4 * width), 1):
        layers[f"conv{number}"] = nn.Conv2d(channels, features, 3, padding=1, bias=False)
        layers[f"norm{number}"] = nn.BatchNorm2d(features)
        layers[f"relu{number}"] = nn.ReLU()
        if number < 4 and side >= 4:
            layers[f"pool{number}"] = nn.MaxPool2d(2)
            side //= 2
        channels = features
    layers["average"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["head"] = nn.Linear(channels, classes)
    return nn.Sequential(layers)


def image_shape(name: str, shape: tuple[int, ...], smallest: int) -> tuple[int, int, int]:
    """Return channels, height and width, or raise an error that says what `name` accepts."""
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise InputError(
            f"shape of network {name!r} must be (channels, height, width) with sides of at least "
            f"{smallest}; got {shape}."
        )
    channels, height, width = shape
    return channels, height, width
