"""`build`: a network by name, a copy of a module, or what a function makes; its weights a function of the seed.

Torch's global random state is left as it was found, so that building a model never shifts anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..core import checks, registry, seeds
from ..core.errors import InputError, UnknownNameError
from ..core.registration import Network
from .bridge import LIBRARIES, bridged
from .features import eval_mode
from .user_module import copied, made
from .weight_files import load_weights

__all__ = ["NETWORKS", "build", "choose"]

LARGEST = 10**9  # weights; more would fill the memory before anything could refuse them


class _Networks(Mapping[str, Network]):
    """The registered networks by name, as the registry holds them."""

    def __getitem__(self, name: str) -> Network:
        return {entry.name: entry for entry in registry.listing("network")}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(entry.name for entry in registry.listing("network"))

    def __len__(self) -> int:
        return len(registry.listing("network"))


NETWORKS: Mapping[str, Network] = _Networks()


def build(
    name: str | nn.Module | Callable[[], nn.Module],
    *,
    classes: int,
    shape: Sequence[int] | None = None,
    weights: str | Path | None = None,
    seed: int = 0,
    fresh: bool = True,
    **options: Any,
) -> nn.Module:
    """Build a network whose initial weights depend on the seed alone.

    Parameters
    ----------
    name
        A registered network (`winnow methods` lists them), `auto`, `torchvision:NAME` or `timm:NAME`; or a torch
        module, which is copied and started afresh; or a function without arguments that makes one. Options of a
        registered network may be part of its name: `convnet:width=16`.
    classes
        Number of outputs: classes, or the outputs of a regression.
    shape
        Shape of one example; each named network has one in mind if none is given, `auto` needs it. With it,
        a network that is not winnow's own is tried on two examples and refused here rather than later.
    weights
        File of trained weights (safetensors, or torch's own) to load into it.
    seed
        Decides the initial weights.
    fresh
        Whether a torch module starts from new weights; if not, it keeps those it has.
    **options
        Options of the named network, such as `width`.

    Examples
    --------
    >>> model = build("lenet5", classes=10)
    >>> sum(p.numel() for p in model.parameters())
    61706
    """
    checks.integer("classes", "build", classes, low=1)
    size = None if shape is None else _shape(shape)
    number = seeds.number(seed, "initial weights")
    label = name if isinstance(name, str) else type(name).__name__
    with _seeded(number):
        if isinstance(name, str):
            model = _named(name, classes, size, options)
        else:
            model = _own(name, fresh, options)
    if weights is not None:
        load_weights(model, weights, label)
    if size is not None and label.partition(":")[0] not in _own_names():
        _try(model, size, classes, label)
    return model


def choose(shape: Sequence[int], kind: str = "tensor", classes: int = 2) -> str:
    """The network that `auto` stands for.

    Parameters
    ----------
    shape
        Shape of one example.
    kind
        The source's kind: `image`, `tensor` or `table`.
    classes
        Number of outputs; no choice depends on it so far.

    Examples
    --------
    >>> choose((64,), "table"), choose((1, 28, 28)), choose((3, 32, 32))
    ('mlp', 'lenet5', 'convnet')
    """
    size = _shape(shape)
    checks.choice("kind", "choose", kind, ("image", "tensor", "table"))
    checks.integer("classes", "choose", classes, low=1)
    if kind == "table" or len(size) != 3 or min(size[1:]) < 4:
        return "mlp"
    channels, height, width = size
    if channels == 1 and min(height, width) >= 12 and max(height, width) <= 40:
        return "lenet5"
    return "convnet"


@contextmanager
def _seeded(number: int) -> Iterator[None]:
    # The CPU's generator alone: networks are made there, and touching CUDA's would start CUDA.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(number)
        yield


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    if isinstance(shape, str) or not isinstance(shape, Sequence) or not shape:
        raise InputError(f"shape of build must be the shape of one example, such as (1, 28, 28); got {shape!r}.")
    return tuple(checks.integer("shape", "build", side, low=1) for side in shape)


def _named(name: str, classes: int, shape: tuple[int, ...] | None, options: dict[str, Any]) -> nn.Module:
    written, (library, colon, inner) = name, name.partition(":")
    if colon and library in LIBRARIES:
        if shape is not None and len(shape) != 3:
            raise InputError(f"shape of network {name!r} must be (channels, height, width); got {shape}.")
        return bridged(library, inner, classes, 3 if shape is None else shape[0], options)
    if name == "auto":
        if shape is None:
            raise InputError("shape of network 'auto' must be given: it chooses the network.")
        name = choose(shape, classes=classes)
    if colon and library in NETWORKS:
        name, options = library, {**_written(name, inner), **options}
    if name not in NETWORKS:
        raise UnknownNameError.of("network", name, ["auto", *NETWORKS, "torchvision:NAME", "timm:NAME"])
    network = NETWORKS[name]
    for option in options:
        if option not in network.options:
            raise UnknownNameError.of(f"option of network {name!r}:", option, network.options or ["(none)"])
    size = network.shape if shape is None else shape
    _fits(network, classes, size, options, written)
    made: nn.Module = network.function(classes, size, **options)
    return made


def _own_names() -> set[str]:
    """Networks that winnow has designed, and need not be tried."""
    return {"auto", *(entry.name for entry in NETWORKS.values() if entry.package == "winnow")}


def _fits(network: Network, classes: int, shape: tuple[int, ...], options: dict[str, Any], name: str) -> None:
    """Refuse a network that memory cannot hold, by making it without any."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            weights = sum(p.numel() for p in network.function(classes, shape, **options).parameters())
    except (RuntimeError, TypeError, OverflowError):  # sizes beyond what torch can count
        weights = LARGEST + 1
    if weights > LARGEST:
        raise InputError(f"network {name!r} is too large to be made: it has more than {LARGEST:,} weights.")


def _written(name: str, text: str) -> dict[str, Any]:
    """Options written behind a network's name; numbers and lists are read as JSON, the rest as words."""
    found: dict[str, Any] = {}
    for pair in re.split(r",(?=\w+=)", text):
        option, equals, value = pair.partition("=")
        if not equals or not option or option in found:
            raise InputError(f"options in the name of a network must be option=value, each once; got {name!r}.")
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = value
        found[option] = read if isinstance(read, (int, float, list)) and not isinstance(read, bool) else value
    return found


def _own(model: object, fresh: bool, options: dict[str, Any]) -> nn.Module:
    if options:
        raise InputError(
            f"options of build are for named networks; got {', '.join(options)} with a {type(model).__name__}."
        )
    if isinstance(model, nn.Module):
        return copied(model, fresh)
    if callable(model):
        return made(model)
    raise InputError(
        f"model of build must be the name of a network, a torch module, or a function that makes one; got {model!r}."
    )


def _try(model: nn.Module, shape: tuple[int, ...], classes: int, label: str) -> None:
    """Run two empty examples through a network that winnow did not design."""
    first = next(model.parameters(), torch.zeros(0))
    try:
        with eval_mode(model), torch.no_grad():
            output = model(torch.zeros(2, *shape, device=first.device))
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        raise InputError(
            f"network {label!r} cannot take examples of shape {shape}: "
            f"{str(error).strip().splitlines()[0].rstrip('.')}."
        ) from None
    if not isinstance(output, torch.Tensor) or output.shape != (2, classes):
        given = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(
            f"network {label!r} must give {classes} output(s) an example, that is (2, {classes}) for two; got {given}."
        )
