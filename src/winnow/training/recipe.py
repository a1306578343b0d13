"""Recipe: how to train, as one frozen value that is checked once and stored in every provenance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..core import checks
from ..core.errors import InputError
from ..core.parameter_names import of
from ..core.request import Parameter, choice, declared, number, whole

if TYPE_CHECKING:
    import torch

__all__ = ["AUGMENTATIONS", "How", "MatchIterations", "Recipe", "recipe_of"]

AUGMENTATIONS = ("crop", "flip")
LEARNING_RATES = {"sgd": 0.05, "adam": 1e-3, "adamw": 1e-3}
ORDERS = ("shuffled", "sharded")
SCHEDULES = ("constant", "cosine", "onecycle")


def _augmentations(name: str, owner: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{of(name, owner)} must be a tuple of strings, such as ('flip',); got {value!r}.")
    return tuple(checks.choice(name, owner, word, AUGMENTATIONS) for word in value)


def _device(name: str, owner: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{of(name, owner)} must be 'auto' or the name of a torch device; got {value!r}.")
    return value


@dataclass(frozen=True)
class Recipe:
    """How to train: a frozen set of hyper-parameters.

    Parameters
    ----------
    epochs
        Passes over the training set.
    batch
        Examples per step. A last batch of one is joined to the one before it.
    optimizer
        `sgd` (Nesterov momentum), `adam` or `adamw`.
    lr
        Peak learning rate; None uses the optimiser's usual one.
    momentum, weight_decay
        As the optimiser defines them.
    schedule
        `constant`; `cosine` to zero; or `onecycle`, a linear rise over the first fifth and a linear fall to zero.
    augment
        Any of `flip` (left and right, half of the time) and `crop` (a shift by up to an eighth of the side); images
        only.
    precision
        `float32` or `bfloat16` (autocast).
    label_smoothing
        Probability spread over all classes.
    device
        `auto` uses a GPU if there is one.
    order
        `shuffled`: an epoch visits the examples in random order. `sharded`: parts of some thousand examples in random
        order, 16 at a time, mixed; for data that do not fit into memory, where reading at random is slow.
    checkpoint
        Minutes between two checkpoints of a training in a run directory, from which the same command goes on if it is
        killed; 0 for none. A shorter training has none. It changes no result.

    Raises
    ------
    InputError
        If a value is out of range.
    UnknownNameError
        If there is no optimiser, schedule, augmentation or precision of that name.

    Examples
    --------
    >>> recipe = Recipe(epochs=2, batch=100)
    >>> recipe.steps(250)
    6
    """

    epochs: Annotated[int, whole("Passes over the training set.", low=1)] = 30
    batch: Annotated[int, whole("Examples per step.", low=1)] = 128
    optimizer: Annotated[str, choice("Optimiser", LEARNING_RATES)] = "adamw"
    lr: Annotated[
        float | None, number("Peak learning rate; the usual one of the optimiser if not given.", low=0, open_low=True)
    ] = None
    momentum: Annotated[float, number("Momentum of sgd.", low=0, high=1, open_high=True)] = 0.9
    weight_decay: Annotated[float, number("Weight decay.", low=0)] = 5e-4
    schedule: Annotated[str, choice("Learning-rate schedule", SCHEDULES)] = "cosine"
    augment: Annotated[
        tuple[str, ...],
        Parameter("Augmentation: flip or crop; may be given twice.", _augmentations, kind=list[str], read=tuple),
    ] = ()
    precision: Annotated[str, choice("Numeric precision", ("float32", "bfloat16"))] = "float32"
    label_smoothing: Annotated[
        float, number("Label smoothing: probability spread over all classes.", low=0, high=1, open_high=True)
    ] = 0.0
    device: Annotated[str, Parameter("Torch device; auto takes a GPU if there is one.", _device)] = "auto"
    order: Annotated[str, choice("Order of the examples in an epoch", ORDERS)] = "shuffled"
    checkpoint: Annotated[
        float, number("Minutes between two checkpoints of a training in a run directory; 0 for none.", low=0)
    ] = 5.0

    def __post_init__(self) -> None:
        fields: Callable[..., Recipe] = Recipe
        for name, one in declared(fields).items():
            object.__setattr__(self, name, one.checked("Recipe", getattr(self, name)))

    def steps(self, size: int) -> int:
        """Return the number of optimiser steps of a training on `size` examples."""
        return self.epochs * self.batches(size)

    def batches(self, size: int) -> int:
        """Return the number of batches in one pass over `size` examples."""
        whole, rest = divmod(size, self.batch)
        return max(1, whole + (rest > 1))

    def matched_steps(self, size: int, full: int, factor: float) -> int:
        """Return the steps for a subset of `size` out of `full` examples, with iterations matched by `factor`.

        With f = size / full and c the factor: epochs x (f + c (1 - f)) / f passes over the subset, counted in whole
        batches. That is exactly the same epochs at c = 0, and exactly as many steps as on all the data at c = 1.
        """
        return round((1 - factor) * self.steps(size) + factor * self.steps(full))

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide a result as plain values, for provenance and keys."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "checkpoint"}

    def build_optimizer(self, model: torch.nn.Module) -> torch.optim.Optimizer:
        """Return the optimiser for a model's trainable parameters."""
        import torch

        parameters = [p for p in model.parameters() if p.requires_grad]
        lr = self.lr if self.lr is not None else LEARNING_RATES[self.optimizer]
        if self.optimizer == "sgd":
            return torch.optim.SGD(
                parameters,
                lr=lr,
                momentum=self.momentum,
                weight_decay=self.weight_decay,
                nesterov=self.momentum > 0,
                fused=True,
            )
        kind = torch.optim.Adam if self.optimizer == "adam" else torch.optim.AdamW
        return kind(parameters, lr=lr, weight_decay=self.weight_decay, fused=True)

    def rate(self, step: int, steps: int) -> float:
        """Return the learning rate at a step of `steps`, as a share of the peak."""
        done = (step + 0.5) / steps
        if self.schedule == "constant":
            return 1.0
        if self.schedule == "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
        return done / 0.2 if done < 0.2 else (1 - done) / 0.8


def recipe_of(owner: str, recipe: object) -> Recipe:
    """Return the recipe; the default one if None is given."""
    return Recipe() if recipe is None else _recipe("recipe", owner, recipe)


def _recipe(name: str, owner: str, value: object) -> Recipe:
    if not isinstance(value, Recipe):
        raise InputError(f"{of(name, owner)} must be a Recipe; got {type(value).__name__}.")
    return value


How = Annotated[
    Recipe | None,
    Parameter("How to train.", _recipe, plain=Recipe.settings, group=Recipe, owner="Recipe", usual=Recipe),
]
MatchIterations = Annotated[float, number("0: same epochs for all arms; 1: same steps.", low=0, high=1)]
