"""Recipe: how to train, as one frozen value that is checked once and stored in every provenance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core import checks
from ..core.errors import InputError

if TYPE_CHECKING:
    import torch

__all__ = ["AUGMENTATIONS", "Recipe", "recipe_of"]

AUGMENTATIONS = ("crop", "flip")
LEARNING_RATES = {"sgd": 0.05, "adam": 1e-3, "adamw": 1e-3}
SCHEDULES = ("constant", "cosine", "onecycle")


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

    epochs: int = 30
    batch: int = 128
    optimizer: str = "adamw"
    lr: float | None = None
    momentum: float = 0.9
    weight_decay: float = 5e-4
    schedule: str = "cosine"
    augment: tuple[str, ...] = ()
    precision: str = "float32"
    label_smoothing: float = 0.0
    device: str = "auto"

    def __post_init__(self) -> None:
        checks.integer("epochs", "Recipe", self.epochs, low=1)
        checks.integer("batch", "Recipe", self.batch, low=1)
        checks.choice("optimizer", "Recipe", self.optimizer, LEARNING_RATES)
        if self.lr is not None:
            checks.number("lr", "Recipe", self.lr, low=0, open_low=True)
        checks.number("momentum", "Recipe", self.momentum, low=0, high=1, open_high=True)
        checks.number("weight_decay", "Recipe", self.weight_decay, low=0)
        checks.choice("schedule", "Recipe", self.schedule, SCHEDULES)
        if isinstance(self.augment, str) or not isinstance(self.augment, Iterable):
            raise InputError(f"augment of Recipe must be a tuple of strings, such as ('flip',); got {self.augment!r}.")
        object.__setattr__(self, "augment", tuple(self.augment))
        for word in self.augment:
            checks.choice("augment", "Recipe", word, AUGMENTATIONS)
        if not isinstance(self.device, str):
            raise InputError(f"device of Recipe must be 'auto' or the name of a torch device; got {self.device!r}.")
        checks.choice("precision", "Recipe", self.precision, ("float32", "bfloat16"))
        checks.number("label_smoothing", "Recipe", self.label_smoothing, low=0, high=1, open_high=True)

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
        """Return the settings as plain values, for provenance."""
        return dataclasses.asdict(self)

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
    if recipe is None:
        return Recipe()
    if not isinstance(recipe, Recipe):
        raise InputError(f"recipe of {owner} must be a Recipe; got {type(recipe).__name__}.")
    return recipe
