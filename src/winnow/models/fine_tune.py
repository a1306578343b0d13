"""FineTune: a network that starts from given weights, with a new head or its own, and with layers frozen or not.

Every training that starts from a `FineTune` begins with the same weights but for a new head, which is drawn from the
seed of the training. Frozen layers get no gradient and stay in eval mode, so that batch norm keeps its statistics.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..core import checks
from ..core.errors import InputError, UnknownNameError
from ..core.files import fingerprint
from .features import feature_layer
from .frozen import state_of
from .identity import BACKBONE, FOLDERS, HEADS, DescribedModel, describe, layer_names
from .representation import Representation, representation
from .weight_files import load_weights, read_weights

__all__ = ["FineTune", "started"]

OWNER = "FineTune"


@dataclass(frozen=True, eq=False)
class FineTune(DescribedModel):
    """A network to fine-tune: training starts from its weights instead of new ones. It is taken wherever a model is.

    Parameters
    ----------
    model
        The name of a network, whose `weights` are a file; `hf:PATH`, which has its own; or a torch module, or a
        function that makes one, with the weights it has.
    weights
        File of weights (safetensors, or torch's own).
    head
        `new` draws the classification head from the seed of each training, with as many outputs as there are classes; a
        network without a head gets one. `keep` starts from the head of the weights, which must have these outputs.
    freeze
        Names of layers (or of groups of them, such as `layer1`) that are not trained; `backbone` freezes everything but
        the head.

    Raises
    ------
    InputError
        If a named network has no weights, or a parameter has an invalid value.

    Examples
    --------
    >>> import winnow as wn
    >>> encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU())
    >>> tuned = wn.models.FineTune(encoder, freeze="backbone")
    >>> network = wn.models.build(tuned, classes=10, shape=(1, 8, 8))
    >>> [name for name, value in network.named_parameters() if value.requires_grad]
    ['head.weight', 'head.bias']
    """

    model: str | nn.Module | Callable[[], nn.Module]
    weights: str | Path | None = None
    head: str = "new"
    freeze: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        checks.choice("head", OWNER, self.head, HEADS)
        object.__setattr__(self, "freeze", layer_names("freeze", OWNER, self.freeze))
        if not isinstance(self.model, str) and not callable(self.model):
            raise InputError(
                f"model of {OWNER} must be the name of a network, a torch module or a function that makes one; got "
                f"{type(self.model).__name__}."
            )
        folder = isinstance(self.model, str) and self.model.startswith(FOLDERS)
        if folder and self.weights is not None:
            raise InputError(f"weights of {OWNER} must not be given for network {self.model!r}, whose folder has them.")
        if isinstance(self.model, str) and self.weights is None and not folder:
            raise InputError(
                f"weights of {OWNER} must be a file for network {self.model!r}: without it there is nothing to start "
                "from."
            )

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the weights it starts from; empty if the description of the network has it."""
        if self.weights is not None:
            state = read_weights(self.weights, self._label)
            return fingerprint(*(part for name in sorted(state) for part in (name, *_bytes(state[name]))))
        return fingerprint(*state_of(self.model)) if isinstance(self.model, nn.Module) else ""

    @property
    def _label(self) -> str:
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    def describe(self) -> dict[str, Any]:
        """Return its description as plain values."""
        return {
            "fine_tune": describe(self.model),
            "weights": self.digest,
            "head": self.head,
            "freeze": list(self.freeze),
        }


def _bytes(value: torch.Tensor) -> list[bytes]:
    return state_of(nn.ParameterDict({"value": nn.Parameter(value, requires_grad=False)}))


def started(plan: FineTune, draft: nn.Module, classes: int, shape: Sequence[int] | None, text: bool) -> nn.Module:
    """Return the network to train from a draft of it; call it with torch seeded.

    Parameters
    ----------
    plan
        What to start from.
    draft
        The named network as drawn from the seed, with these classes; or a copy of the module.
    classes
        Number of outputs.
    shape
        Shape of one example, to find the head by; if not given, the head is the last linear layer.
    text
        Whether examples are rows of token ids.
    """
    head = _head(draft, shape, text)
    new = plan.head == "new"
    if plan.weights is not None:
        without = (*head.names,) if new else ()
        load_weights(draft, plan.weights, plan._label, without=without, grey=True)
    if new and not isinstance(plan.model, str):
        draft = _with_new_head(draft, head, classes)
        head = _Head((head.layer or "head",), head.layer or "head", None)
    elif new and head.taken is not None:
        draft = _headed(draft, head.taken, classes)
        head = _Head(("head",), "head", None)
    _freeze(draft, plan.freeze, head.names)
    return draft


@dataclass(frozen=True)
class _Head:
    """Where the head of a network is."""

    names: tuple[str, ...]  # layers it consists of; empty if there is none
    layer: str  # the linear layer that gives the outputs; empty if there is none
    taken: Representation | None  # of a network without a head: what a head gets


def _head(model: nn.Module, shape: Sequence[int] | None, text: bool) -> _Head:
    own = getattr(model, "head_names", None)  # networks of transformers have heads of several layers
    if own:
        return _Head(tuple(own), "", None)
    if shape is None:
        name = feature_layer(model)
        return _Head((name,), name, None)
    first = next(model.parameters(), torch.zeros(0))
    x = torch.randn(2, *shape, device=first.device) if not text else torch.randint(1, 4, (2, *shape))
    try:
        found = representation(model, x)
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        if isinstance(error, InputError):
            raise
        why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"network {type(model).__name__!r} cannot take examples of shape {tuple(shape)}: {why}."
        ) from None
    return _Head((found.layer,), found.layer, None) if found.side == "input" else _Head((), "", found)


def _with_new_head(model: nn.Module, head: _Head, classes: int) -> nn.Module:
    """Return a module with a new head of so many outputs, in place of its own or after what it gives."""
    if head.taken is not None:
        return _headed(model, head.taken, classes)
    old = model.get_submodule(head.layer)
    if isinstance(old, nn.Conv2d):
        made: nn.Module = nn.Conv2d(old.in_channels, classes, 1, bias=old.bias is not None)
    else:
        assert isinstance(old, nn.Linear)
        made = nn.Linear(old.in_features, classes, bias=old.bias is not None)
    weight = next(old.parameters())
    model.set_submodule(head.layer, made.to(weight.device, weight.dtype))
    return model


class _Encoded(nn.Module):
    """A network without a head as a map from examples to vectors."""

    def __init__(self, network: nn.Module, taken: Representation) -> None:
        super().__init__()
        self.network, self.taken = network, taken

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one vector per example."""
        return self.taken(self.network, x)


def _headed(model: nn.Module, taken: Representation, classes: int) -> nn.Module:
    parts = OrderedDict[str, nn.Module](encoder=_Encoded(model, taken), head=nn.Linear(taken.width, classes))
    return nn.Sequential(parts)


def _freeze(model: nn.Module, layers: Sequence[str], head: Sequence[str]) -> None:
    """Freeze the parameters of these layers; raise if there is no such layer, or nothing is left to train."""
    known = {name for name, _ in model.named_modules() if name} | {name for name, _ in model.named_parameters()}
    for layer in layers:
        if layer != BACKBONE and layer not in known:
            raise UnknownNameError.of(
                f"layer in freeze of {OWNER} for a {type(model).__name__}:", layer, [BACKBONE, *sorted(known)]
            )
    for name, value in model.named_parameters():
        inside = any(_within(name, layer) for layer in layers if layer != BACKBONE)
        if inside or (BACKBONE in layers and not any(_within(name, part) for part in head)):
            value.requires_grad_(False)
    if not any(value.requires_grad for value in model.parameters()):
        raise InputError(f"freeze of {OWNER} must leave something to train; {', '.join(layers)} is all of the network.")


def _within(name: str, layer: str) -> bool:
    return name == layer or name.startswith(f"{layer}.")
