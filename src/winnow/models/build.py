"""`build`: a network by name, a copy of a module, or the result of a function; the seed determines its weights.

Torch's global random state is restored, so that building a model never affects anything else.
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
from .fine_tune import FineTune, started
from .frozen import Frozen
from .identity import FOLDERS, IMAGENET
from .library_networks import LIBRARIES, bridged
from .modes import eval_mode
from .text_transformers import SentenceEncoder, text_transformer
from .user_module import copied, made
from .weight_files import load_weights

__all__ = ["NETWORKS", "build", "choose", "written_options"]

LARGEST = 10**9  # weights; more would fill the memory before any check


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
    name: str | nn.Module | Callable[[], nn.Module] | FineTune,
    *,
    classes: int,
    shape: Sequence[int] | None = None,
    kind: str | None = None,
    weights: str | Path | None = None,
    seed: int = 0,
    fresh: bool = True,
    **options: Any,
) -> nn.Module:
    """Build a network whose initial weights depend only on the seed.

    Parameters
    ----------
    name
        A registered network (`winnow methods` lists them), `auto`, `torchvision:NAME`, `timm:NAME`, or `hf:PATH` for a
        folder of transformers, which starts from its weights with a new head; or a torch
        module, which is copied and reinitialised; or a function without arguments that makes one; or a
        `FineTune`, which starts from weights. Options of a registered network may be part of the name:
        `convnet:width=16`.
    classes
        Number of outputs: classes, or the outputs of a regression.
    shape
        Shape of one example. If not given, each named network uses its default; `auto` needs it. If given, a network
        that is not winnow's own is tried on two examples, so that errors show here rather than later.
    kind
        The source's kind: `image`, `tensor`, `table` or `text`. If given, a network that does not take such examples
        raises an error.
    weights
        File of trained weights (safetensors, or torch's own) to load into it.
    seed
        Seed of the initial weights.
    fresh
        Whether a torch module gets new weights; otherwise it keeps its own.
    **options
        Options of the named network, such as `width`.

    Returns
    -------
    torch.nn.Module
        The network, on the CPU.

    Raises
    ------
    UnknownNameError
        If there is no network or option of that name.
    InputError
        If an argument is out of range, or the network does not fit `shape` and `classes`.
    NotFoundError
        If the file of weights does not exist.
    MissingDependencyError
        If the network needs a package that is not installed.

    Examples
    --------
    >>> model = build("lenet5", classes=10)
    >>> sum(p.numel() for p in model.parameters())
    61706
    """
    checks.integer("classes", "build", classes, low=1)
    size = None if shape is None else _shape(shape)
    number = seeds.number(seed, "initial weights")
    plan = name if isinstance(name, FineTune) else None
    if plan is not None:
        name, fresh = plan.model, False
    label = name if isinstance(name, str) else type(name).__name__
    with _seeded(number):
        if isinstance(name, str):
            keep_head = plan is not None and plan.head == "keep"
            model = _named(name, classes, size, kind, options, keep_head)
        else:
            model = _own(name, fresh, options)
        if plan is None and isinstance(model, SentenceEncoder):
            plan = FineTune(label)  # it has no head of its own
        if plan is not None:
            model = started(plan, model, classes, size, kind == "text")
    if weights is not None:
        load_weights(model, weights, label)
    if size is not None and label.partition(":")[0] not in _own_names():
        _try(model, size, classes, label, torch.int64 if kind == "text" else torch.float32)
    return model


def choose(shape: Sequence[int], kind: str = "tensor", classes: int = 2) -> str:
    """Choose the network that `auto` stands for.

    Parameters
    ----------
    shape
        Shape of one example.
    kind
        The source's kind: `image`, `tensor`, `table` or `text`.
    classes
        Number of outputs; the choice does not depend on it so far.

    Returns
    -------
    str
        The name of a network.

    Raises
    ------
    InputError
        If `shape` is not the shape of an example.

    Examples
    --------
    >>> choose((64,), "table"), choose((1, 28, 28)), choose((3, 32, 32)), choose((40,), "text")
    ('mlp', 'lenet5', 'convnet', 'textbag')
    """
    size = _shape(shape)
    checks.choice("kind", "choose", kind, ("image", "tensor", "table", "text"))
    checks.integer("classes", "choose", classes, low=1)
    if kind == "text":
        return "textbag"
    if kind == "table" or len(size) != 3 or min(size[1:]) < 4:
        return "mlp"
    channels, height, width = size
    if channels == 1 and min(height, width) >= 12 and max(height, width) <= 40:
        return "lenet5"
    return "convnet"


@contextmanager
def _seeded(number: int) -> Iterator[None]:
    # Only the CPU's generator: networks are made there, and using CUDA's would start CUDA.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(number)
        yield


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    if isinstance(shape, str) or not isinstance(shape, Sequence) or not shape:
        raise InputError(f"shape of build must be the shape of one example, such as (1, 28, 28); got {shape!r}.")
    return tuple(checks.integer("shape", "build", side, low=1) for side in shape)


def _named(
    name: str, classes: int, shape: tuple[int, ...] | None, kind: str | None, options: dict[str, Any], keep_head: bool
) -> nn.Module:
    if name.startswith(FOLDERS):
        _takes(name, True, kind)
        if options:
            raise InputError(f"network {name!r} has no options; got {', '.join(options)}.")
        return text_transformer(name, classes, keep_head)
    if name.startswith(IMAGENET):
        raise InputError(
            f"network {name!r} has no head and is not trained; it embeds: wn.embed(source, {name!r}), or embeddings= "
            "of check."
        )
    written, (library, colon, inner) = name, name.partition(":")
    if colon and library in LIBRARIES:
        _takes(name, False, kind)
        if shape is not None and len(shape) != 3:
            raise InputError(f"shape of network {name!r} must be (channels, height, width); got {shape}.")
        return bridged(library, inner, classes, 3 if shape is None else shape[0], options)
    if name == "auto":
        if shape is None:
            raise InputError("shape of network 'auto' must be given, because it decides the network.")
        name = choose(shape, "tensor" if kind is None else kind, classes)
    if colon and library in NETWORKS:
        name, options = library, {**written_options(name, inner), **options}
    if name not in NETWORKS:
        raise UnknownNameError.of(
            "network", name, ["auto", *NETWORKS, "torchvision:NAME", "timm:NAME", "hf:PATH", "sklearn:NAME"]
        )
    network = NETWORKS[name]
    _takes(name, network.text, kind)
    for option in options:
        if option not in network.options:
            raise UnknownNameError.of(f"option of network {name!r}:", option, network.options or ["(none)"])
    size = network.shape if shape is None else shape
    _fits(network, classes, size, options, written)
    made: nn.Module = network.function(classes, size, **options)
    return made


def _takes(name: str, text: bool, kind: str | None) -> None:
    """Raise if a network is for text and the examples are not, or the reverse."""
    if kind is None or text == (kind == "text"):
        return
    known = [entry.name for entry in NETWORKS.values() if entry.text]
    if text:
        raise InputError(f"network {name!r} takes text; got examples of kind {kind}.")
    raise InputError(f"network {name!r} does not take text; use {', '.join(known)} or a module that takes token ids.")


def _own_names() -> set[str]:
    """Networks that winnow has designed, and need not be tried."""
    return {"auto", *(entry.name for entry in NETWORKS.values() if entry.package == "winnow")}


def _fits(network: Network, classes: int, shape: tuple[int, ...], options: dict[str, Any], name: str) -> None:
    """Raise if a network is too large for memory, by building it without allocating any."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            weights = sum(p.numel() for p in network.function(classes, shape, **options).parameters())
    except (RuntimeError, TypeError, OverflowError):  # sizes beyond what torch can represent
        weights = LARGEST + 1
    if weights > LARGEST:
        raise InputError(f"network {name!r} is too large to be made: it has more than {LARGEST:,} weights.")


def written_options(name: str, text: str, *, plain: bool = True) -> dict[str, Any]:
    """Parse options written after the name of a model.

    Values are read as JSON, or else as text; of a network (`plain`) only numbers and lists are read.
    """
    found: dict[str, Any] = {}
    for pair in re.split(r",(?=\w+=)", text):
        option, equals, value = pair.partition("=")
        if not equals or not option or option in found:
            raise InputError(f"options in the name of a model must be option=value, each once; got {name!r}.")
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = value
        usual = isinstance(read, (int, float, list)) and not isinstance(read, bool)
        found[option] = read if usual or not plain else value
    return found


def _own(model: object, fresh: bool, options: dict[str, Any]) -> nn.Module:
    if options:
        raise InputError(
            f"options of build are only for named networks; got {', '.join(options)} with a {type(model).__name__}."
        )
    if isinstance(model, nn.Module):
        return copied(model, fresh)
    if callable(model):
        return made(model)
    if isinstance(model, Frozen):
        raise InputError(
            "a Frozen model is for embed, observe, prune, check, evaluate and probe; elsewhere give "
            "wn.models.FineTune(module, freeze='backbone')."
        )
    raise InputError(
        f"model of build must be the name of a network, a torch module, or a function that makes one; got {model!r}."
    )


def _try(model: nn.Module, shape: tuple[int, ...], classes: int, label: str, dtype: torch.dtype) -> None:
    """Run two empty examples through a network that is not winnow's own."""
    first = next(model.parameters(), torch.zeros(0))
    try:
        with eval_mode(model), torch.no_grad():
            output = model(torch.zeros(2, *shape, device=first.device, dtype=dtype))
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        raise InputError(
            f"network {label!r} cannot take examples of shape {shape}: "
            f"{str(error).strip().splitlines()[0].rstrip('.')}."
        ) from None
    if not isinstance(output, torch.Tensor) or output.shape != (2, classes):
        given = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(
            f"network {label!r} must give {classes} output(s) per example, that is (2, {classes}) for two; got {given}."
        )
