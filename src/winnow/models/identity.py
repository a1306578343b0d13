"""What identifies a model, in plain values: for provenance, and for the key of a step that trains it.

Models are distinguished by their layers and by the code of their own `forward`s, so that a network edited between two
runs is not mistaken for the old one. A module's weights do not count, because winnow draws new ones from the training
seed; those from a factory function, of a `FineTune`, a `Frozen` and a folder of transformers do.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..core import registry
from ..core.code_digest import code_digest, of_the_user, said_value
from ..core.errors import InputError
from ..core.files import fingerprint
from ..core.parameter_names import of
from ..core.request import Parameter, choice

if TYPE_CHECKING:
    import torch

__all__ = ["DescribedModel", "Learner", "Model", "Network", "describe", "is_estimator", "network_code", "resolved"]

FOLDERS = ("hf:", "sentence:")  # networks that are folders of files
ENCODER = "encoder"  # stands for the open encoder that is installed and suits the data
IMAGENET = "imagenet:"  # networks that come with weights in an installed package


class DescribedModel(ABC):
    """A model that says itself what identifies it: its weights count too."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return its description as plain values."""


def is_estimator(model: object) -> bool:
    """Whether a model is a scikit-learn estimator rather than a network."""
    wanted = all(callable(getattr(model, name, None)) for name in ("fit", "predict", "get_params"))
    return wanted and not isinstance(model, type) and not hasattr(model, "state_dict")


def describe(model: Any) -> Any:
    """A name for a named network; class, size and a fingerprint for a module or factory; an estimator's parameters."""
    if isinstance(model, DescribedModel):
        return model.describe()
    if isinstance(model, str):
        if model.startswith(IMAGENET):
            from .open_encoders import described_encoder

            return described_encoder(model)
        if not model.startswith(FOLDERS):
            return model
        from .transformer_folder import described_folder

        return described_folder(model)
    if is_estimator(model):
        given = {name: repr(value) for name, value in sorted(model.get_params(deep=True).items())}
        about = {"estimator": f"{type(model).__module__}.{type(model).__qualname__}", "parameters": given}
        own = of_the_user(type(model).__module__.partition(".")[0])
        return {**about, "code": code_digest(type(model))} if own else about
    if isinstance(model, type) or (not hasattr(model, "state_dict") and callable(model)):
        import torch

        with torch.random.fork_rng(devices=[]):  # calling the factory must not change the global stream
            torch.manual_seed(0)
            made = model()
        weights = fingerprint(*(value.detach().cpu().numpy().tobytes() for value in made.state_dict().values()))
        name = getattr(model, "__qualname__", type(model).__name__)
        code = code_digest(model) if hasattr(model, "__module__") else None
        return {"factory": name, "makes": describe(made), "weights": weights, "code": code}
    return _describe_module(model)


def network_code(model: Any) -> str | None:
    """Return a digest of the code of a network that winnow knows by name, for the key of a step that trains it.

    None for all others: the description of a user's own model holds its code, and that of a library is not winnow's.
    """
    inner = getattr(model, "model", None) or getattr(model, "backbone", None)
    name = inner if isinstance(model, DescribedModel) else model
    if not isinstance(name, str):
        return None
    known = {entry.name: entry for entry in registry.listing("network")}
    word = name.partition(":")[0]  # options follow
    return known[word].code if word in known else None


HEADS = ("new", "keep")
BACKBONE = "backbone"


def layer_names(name: str, owner: str, value: Any) -> tuple[str, ...]:
    """Check the names of layers to freeze."""
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(one, str) and one for one in found):
        raise InputError(f"{name} of {owner} must be {BACKBONE!r} or names of layers, such as 'layer1'; got {value!r}.")
    return tuple(found)


Weights = Annotated[str | Path | None, Parameter("File of weights to start from.", kind=Path | None)]
Head = Annotated[str, choice("Classification head, with --weights or --freeze", HEADS)]
Freeze = Annotated[
    str | Sequence[str],
    Parameter(
        "Layer to freeze, or backbone for all but the head; may be given several times.",
        layer_names,
        kind=list[str],
    ),
]


def fine_tuned(model: Any, weights: Weights = None, head: Head = "new", freeze: Freeze = ()) -> Any:
    """Return the model as it is if nothing else is asked for, and otherwise a `FineTune` of it."""
    if weights is None and head == "new" and not freeze:
        return model
    from .fine_tune import FineTune

    return FineTune(model, weights, head, freeze)


def resolved(name: str, owner: str, value: Any) -> Any:
    """A model as given; an estimator if it is named, such as `sklearn:LogisticRegression`.

    Says once that a module is trained from new weights, because many people expect otherwise.
    """
    from .estimator_names import estimator_named, is_estimator_name

    if hasattr(value, "state_dict") and not _told:
        _told.append(True)
        warnings.warn(
            f"{of(name, owner)} is a torch module, of which only the architecture is used: each training draws new "
            "weights; to start from its own, give wn.models.FineTune(module)",
            stacklevel=5,
        )
    return estimator_named(value) if is_estimator_name(value) else value


def _network(name: str, owner: str, value: Any) -> Any:
    if is_estimator(found := resolved(name, owner, value)):
        raise InputError(
            f"{of(name, owner)} must be a network, which trains step by step; {type(found).__name__} does not."
        )
    return found


_told: list[bool] = []
_NETWORKS = "linear, mlp, lenet5, convnet, resnet20, textbag, textformer, torchvision:NAME, timm:NAME, hf:PATH"
_ALL = f"{_NETWORKS}, sklearn:NAME or auto."
Network = Annotated[Any, Parameter(f"{_NETWORKS} or auto.", _network, plain=describe, kind=str, beside=fine_tuned)]
Model = Annotated[Any, Parameter(_ALL, resolved, plain=describe, kind=str, beside=fine_tuned)]
Learner = Annotated[Any, Parameter(_ALL, resolved, plain=None, kind=str, beside=fine_tuned)]


def _describe_module(model: torch.nn.Module) -> dict[str, Any]:
    shapes = {name: list(value.shape) for name, value in model.state_dict().items()}
    trained = [name for name, value in model.named_parameters() if value.requires_grad]
    return {
        "module": type(model).__qualname__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "layers": fingerprint(repr(model), shapes, trained, list(_behaviour(model))),
    }


def _behaviour(model: torch.nn.Module) -> Iterator[Any]:
    """Yield the code, with what it calls, and the plain attributes of every layer that is not torch's own."""
    codes: dict[type, str] = {}
    for path, layer in model.named_modules():
        kind = type(layer)
        if kind.__module__.startswith("torch.nn"):
            continue
        if kind not in codes:
            codes[kind] = code_digest(kind)
        plain = {
            name: said_value(value)
            for name, value in sorted(vars(layer).items())
            if callable(value) or isinstance(value, (bool, int, float, str, tuple, type(None)))
        }
        yield [path, plain, codes[kind]]
