"""A search space of small networks: one convolutional network with options, and the grid of its variants.

A variant is a name that `build` takes, such as `smallconv:depth=2,width=8,pooling=max`, so that anything that trains a
named network can train it, and a run directory identifies it by that name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import product
from typing import Any

from torch import nn

from ..core import checks, registry
from ..core.errors import InputError
from .networks import image_shape

__all__ = ["small_networks", "smallconv"]

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
POOLINGS = ("max", "average", "stride")
NORMS = ("none", "batch")


@registry.network(shape=(3, 32, 32))
def smallconv(
    classes: int,
    shape: tuple[int, ...],
    *,
    depth: int = 2,
    width: int = 8,
    kernel: int = 3,
    activation: str = "relu",
    pooling: str = "max",
    norm: str = "batch",
    stride: int = 1,
) -> nn.Module:
    """Blocks of a convolution, a norm, an activation and a halving of the image, then a linear head on every pixel.

    The blocks have w, 2w, 4w ... features. An image is halved by pooling, or by a convolution of stride two if pooling
    is `stride`, as long as at least two rows and columns remain. `stride` is that of the first convolution: 2 makes the
    network about four times cheaper.
    """
    owner = "network 'smallconv'"
    channels, rows, columns = image_shape("smallconv", shape, smallest=2)
    for name, value in (("depth", depth), ("width", width), ("kernel", kernel), ("stride", stride)):
        checks.integer(name, owner, value, low=1)
    if kernel % 2 == 0:
        raise InputError(f"kernel of {owner} must be odd, so that it has a centre; got {kernel}.")
    checks.choice("activation", owner, activation, ACTIVATIONS)
    checks.choice("pooling", owner, pooling, POOLINGS)
    checks.choice("norm", owner, norm, NORMS)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number in range(1, depth + 1):
        features = width * 2 ** (number - 1)
        step = stride if number == 1 else 1
        rows, columns = -(-rows // step), -(-columns // step)
        halved = min(rows, columns) >= 2
        if halved and pooling == "stride":
            step *= 2
            rows, columns = -(-rows // 2), -(-columns // 2)
        layers[f"conv{number}"] = nn.Conv2d(channels, features, kernel, step, kernel // 2, bias=norm == "none")
        if norm == "batch":
            layers[f"norm{number}"] = nn.BatchNorm2d(features)
        if halved and pooling == "max":
            # Before the activation: the same function, since it is monotone, with a quarter of the work.
            layers[f"pool{number}"] = nn.MaxPool2d(2)
        layers[f"{activation}{number}"] = ACTIVATIONS[activation]()
        if halved and pooling == "average":
            layers[f"pool{number}"] = nn.AvgPool2d(2)
        if halved and pooling != "stride":
            rows, columns = rows // 2, columns // 2
        channels = features
    layers["flatten"] = nn.Flatten()
    layers["head"] = nn.Linear(channels * rows * columns, classes)
    return nn.Sequential(layers)


def small_networks(
    *,
    depths: Iterable[int] = (1, 2, 3),
    widths: Iterable[int] = (4, 8),
    kernels: Iterable[int] = (3,),
    activations: Iterable[str] = ("relu",),
    poolings: Iterable[str] = POOLINGS,
    norms: Iterable[str] = NORMS,
    stride: int = 1,
) -> tuple[str, ...]:
    """Return the names of small convolutional networks, one per combination; 36 with the default options.

    They are meant for search: cheap enough to train hundreds of times, different enough to be worth ranking.

    Parameters
    ----------
    depths
        Numbers of convolutions.
    widths
        Features of the first convolution; each further one has twice as many.
    kernels
        Kernel sizes, odd.
    activations
        Any of `relu`, `tanh` and `sigmoid`.
    poolings
        How images are halved: any of `max`, `average` and `stride`.
    norms
        Any of `none` and `batch`.
    stride
        Stride of the first convolution of all networks.

    Returns
    -------
    tuple of str
        Names for `build`.

    Raises
    ------
    InputError
        If an option is empty, repeats a value or is out of range.

    Examples
    --------
    >>> small_networks(depths=[1], widths=[4], poolings=["max"])
    ('smallconv:depth=1,width=4,pooling=max,norm=none', 'smallconv:depth=1,width=4,pooling=max,norm=batch')
    """
    owner = "small_networks"
    axes: dict[str, list[Any]] = {
        "depth": [checks.integer("depths", owner, item, low=1) for item in _several("depths", depths)],
        "width": [checks.integer("widths", owner, item, low=1) for item in _several("widths", widths)],
        "kernel": [checks.integer("kernels", owner, item, low=1) for item in _several("kernels", kernels)],
        "activation": [
            checks.choice("activations", owner, a, ACTIVATIONS) for a in _several("activations", activations)
        ],
        "pooling": [checks.choice("poolings", owner, item, POOLINGS) for item in _several("poolings", poolings)],
        "norm": [checks.choice("norms", owner, item, NORMS) for item in _several("norms", norms)],
        "stride": [checks.integer("stride", owner, stride, low=1)],
    }
    usual: dict[str, list[Any]] = {
        "kernel": [3],
        "activation": ["relu"],
        "stride": [1],
    }  # left out of the name as long as only the default is used
    said = {name: values for name, values in axes.items() if values != usual.get(name)}
    return tuple(
        "smallconv:" + ",".join(f"{name}={value}" for name, value in zip(said, values, strict=True))
        for values in product(*said.values())
    )


def _several(name: str, values: object) -> list[object]:
    """Check for at least one value and no repetition."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} of small_networks must be a sequence of values; got {values!r}.")
    found = list(values)
    if not found or len(set(found)) != len(found):
        raise InputError(f"{name} of small_networks must hold at least one value, each once; got {found}.")
    return found
