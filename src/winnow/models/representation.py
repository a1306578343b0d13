"""What the representation of a network is, decided in one place for `embed`, `relabel` and everything else.

A network with a classification head is represented by what enters its head. The head is the linear layer whose output
is the output of the network; a softmax, a log-softmax or a sigmoid may follow. A convolution is a head only if the
network declares it, by its number of classes. Any other network is an encoder, and its representation is its own
output: timm's and torchvision's networks without a head, transformers' encoders, modules that end in something else
than a linear layer. A single linear layer is an encoder too: nothing but the input enters it.

| output | representation |
|---|---|
| n x d | as it is |
| n x C x H x W | the mean over the image |
| of transformers' encoders | `pooler_output` if there is one, else the mean of `last_hidden_state` over tokens |
| of `hf:PATH` and `sentence:PATH` | the mean of the last hidden state over the tokens of the text, without padding |

The layer is found by running two examples, in eval mode and without gradients. Its output must also be what decides the
output of the network: this is tried with other numbers, of both signs, in its place. Otherwise an encoder that ends in
a ReLU would pass for a classifier if both examples happen to be positive everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from ..core.errors import InputError, UnknownNameError
from .modes import eval_mode

__all__ = ["Representation", "representation"]

NEAR = 1e-5  # of two outputs that are the same but for rounding


@dataclass(frozen=True)
class Representation:
    """Which numbers of a network represent an example; call it with the network and a batch to compute them.

    Parameters
    ----------
    layer
        Name of the layer, as in `model.named_modules()`; empty for the network itself.
    side
        `input` of the layer, which is then the head, or its `output`.
    width
        How many numbers per example.
    pooling
        What was done to make a vector of them: `none`, `mean over the image`, `mean over tokens`, `pooler output` or
        `flattened`.
    """

    layer: str
    side: str
    width: int
    pooling: str

    def about(self) -> dict[str, Any]:
        """Return plain values, for provenance."""
        return asdict(self)

    def sentence(self) -> str:
        """Say what was taken, in words."""
        what = f"the {self.side} of layer {self.layer!r}" if self.layer else "the output of the network"
        what += ", the head" if self.side == "input" else ""
        return f"{self.width} numbers per example: {what}" + ("" if self.pooling == "none" else f", {self.pooling}")

    def __call__(self, model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Compute it for a batch; mode and gradients stay as the caller set them."""
        return _rows(_caught(model, x, self.layer, self.side), self.layer, len(x), bool(self.layer))[0]


def representation(
    model: nn.Module, x: torch.Tensor, layer: str | None = None, *, owner: str = "model"
) -> Representation:
    """Decide what represents examples in a network, by running two of them.

    Parameters
    ----------
    model
        Any torch module; nothing about it is changed.
    x
        A batch, as the model takes it, of which the first two examples are used.
    layer
        Name of a layer whose output to take; empty for the output of the network. If not given, the input of the head,
        or the output of the network if it has no head.
    owner
        What the network is called in messages.

    Returns
    -------
    Representation
        The layer, its width and how it is pooled.

    Raises
    ------
    UnknownNameError
        If the model has no layer of that name.
    InputError
        If there is no vector per example.

    Examples
    --------
    >>> from winnow.models import build
    >>> print(representation(build("lenet5", classes=10), torch.zeros(2, 1, 28, 28)).sentence())
    84 numbers per example: the input of layer 'head', the head
    >>> print(representation(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), torch.zeros(2, 4)).sentence())
    3 numbers per example: the output of the network
    """
    names = {name for name, _ in model.named_modules() if name}
    if layer and layer not in names:
        raise UnknownNameError.of(f"layer of a {type(model).__name__}:", layer, names or ["(none)"])
    few = x[:2]
    own = hasattr(model, "pooled")  # networks of transformers know which tokens are padding
    with eval_mode(model), torch.no_grad():
        head = _head(model, few) if layer is None and not own else None
        name, side = (layer or "", "output") if head is None else (head, "input")
        rows, pooling = _rows(_caught(model, few, name, side), name, len(few), bool(name), owner, type(model).__name__)
    return Representation(name, side, int(rows.shape[1]), str(model.pooling) if own and not name else pooling)


def _head(model: nn.Module, x: torch.Tensor) -> str | None:
    """Return the name of the layer that gives the output of the network; None for an encoder."""
    classes = getattr(model, "num_classes", None)
    if classes == 0:  # as timm's networks say that they have no head
        return None
    layers = {
        name: part
        for name, part in model.named_modules()
        if name and (isinstance(part, nn.Linear) or (isinstance(part, nn.Conv2d) and part.out_channels == classes))
    }
    last: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            last.pop(name, None)  # so that the order is that of the last calls
            last[name] = output

        return hook

    hooks = [part.register_forward_hook(keep(name)) for name, part in layers.items()]
    try:
        output = model(x)
    finally:
        for hook in hooks:
            hook.remove()
    logits = getattr(output, "logits", output)  # transformers' classifiers name it
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2:
        return None
    for name in reversed(last):
        ways = [place for place, one in enumerate(_after(last[name], logits.shape)) if _same(one, logits)]
        if ways and _decides(model, x, layers[name], last[name], ways):
            return name
    return None


def _decides(model: nn.Module, x: torch.Tensor, layer: nn.Module, output: torch.Tensor, ways: list[int]) -> bool:
    """Whether the output of the network follows that of the layer in one of the ways, also for other numbers."""
    other = torch.linspace(-1.0, 1.0, output.numel()).reshape(output.shape).to(output)

    def replaced(_module: nn.Module, _inputs: Any, given: Any) -> Any:
        # A layer may be used at two sizes, and what follows may write into what it gets.
        return other.clone() if getattr(given, "shape", None) == other.shape else given

    hook = layer.register_forward_hook(replaced)
    try:
        found = model(x)
    finally:
        hook.remove()
    logits = getattr(found, "logits", found)
    expected = list(_after(other, logits.shape))
    return any(_same(expected[place], logits) for place in ways)


def _after(output: torch.Tensor, shape: torch.Size) -> Iterator[torch.Tensor]:
    """Yield what a head may still go through before it is the output of the network."""
    if not isinstance(output, torch.Tensor) or output.ndim not in (2, 4):
        return
    plain = [output] if output.ndim == 2 else [output.mean((2, 3)), output.relu().mean((2, 3))]
    for one in plain:
        if one.shape == shape:
            yield from (one, one.softmax(1), one.log_softmax(1), one.sigmoid())


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.float(), other.float(), rtol=NEAR, atol=NEAR)


def _caught(model: nn.Module, x: torch.Tensor, layer: str, side: str) -> Any:
    """Run a batch and return what enters a layer, or leaves it; the output of the network for the empty name."""
    if not layer:
        pooled = getattr(model, "pooled", None)
        return model(x) if pooled is None else pooled(x)
    caught: list[Any] = []
    target = model.get_submodule(layer)
    if side == "input":
        hook = target.register_forward_pre_hook(lambda _module, inputs: caught.append(inputs))
    else:
        hook = target.register_forward_hook(lambda _module, _inputs, output: caught.append(output))
    try:
        model(x)
    finally:
        hook.remove()
    if not caught:
        raise InputError(
            f"layer {layer!r} of a {type(model).__name__} was not used in its forward pass; name another with layer=."
        )
    return caught[-1]


def _rows(
    found: Any, layer: str, n: int, inner: bool, owner: str = "model", kind: str = "network"
) -> tuple[torch.Tensor, str]:
    """Return one row per example and how it was pooled; inner layers may give tuples, and sequences are flattened."""
    pooling, given = "none", type(found).__name__
    while inner and isinstance(found, tuple | list) and found and not hasattr(found, "last_hidden_state"):
        found = found[0]
    if getattr(found, "pooler_output", None) is not None:
        found, pooling = found.pooler_output.flatten(1), "pooler output"
    elif getattr(found, "last_hidden_state", None) is not None:
        found, pooling = found.last_hidden_state, "mean over tokens"
        found = found.mean((2, 3)) if found.ndim == 4 else found.mean(1)
    elif isinstance(getattr(found, "logits", None), torch.Tensor):
        found = found.logits
    if isinstance(found, torch.Tensor):
        given = str(tuple(found.shape))
        if found.ndim == 4:
            found, pooling = found.mean((2, 3)), "mean over the image"
        elif found.ndim == 1:
            found = found[:, None]
        elif inner and found.ndim > 2:
            found, pooling = found.flatten(1), "flattened"
        if found.ndim == 2 and len(found) == n and found.shape[1] > 0:
            return found, pooling
    if inner:
        raise InputError(f"layer {layer!r} must give a tensor with one row for each of {n} examples; got {given}.")
    raise InputError(
        f"{owner} must give one vector per example, that is a tensor of shape ({n}, d) for {n}; a {kind} gave "
        f"{given}; name one of its layers with layer=."
    )
