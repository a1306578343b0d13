"""What `method="auto"` means: the method for a task and a fraction, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts import Source
from ..training.recipe import Recipe

__all__ = ["EARLY_STEPS", "Chosen", "automatic", "choose_method"]


EARLY_STEPS = 50  # after fewer optimiser steps, the network has hardly changed


@dataclass(frozen=True)
class Chosen:
    """A method, and the reason for it."""

    name: str
    why: str


def choose_method(task: str, keep: float | None, epochs: int = 30, early_steps: int = EARLY_STEPS) -> Chosen:
    """Return the method for `auto`: hard examples if much is kept, coverage if little is.

    Keeping the hardest collapses if little is kept (CIFAR-10 with a tenth kept falls far below random). There, covering
    the whole range of difficulty works: strata, and at a fifth or less, where it has the better published results, beta
    sampling by DUAL.

    Parameters
    ----------
    task
        The source's task.
    keep
        The fraction kept; None if a search will find it.
    epochs
        Epochs of the observation; DUAL needs a window of ten.
    early_steps
        Optimiser steps in the first tenth of the observation; early EL2N needs a network that has learned something.
    """
    much = keep is not None and keep >= 0.5
    share = "an unknown share" if keep is None else f"{keep:.0%}"
    if task == "regression":
        return Chosen(
            "difficulty+strata",
            "the target is a number: difficulty is the summed loss, and its strata are covered because the hardest "
            "may be noise",
        )
    if task == "unlabelled":
        return Chosen(
            "prototype" if much else "prototype+strata",
            "there are no labels: difficulty is the distance to the nearest prototype"
            + ("" if much else ", and all its strata are covered because little may be kept"),
        )
    if much and early_steps < EARLY_STEPS:
        return Chosen(
            "aum",
            f"{share} is kept: the hardest examples carry most; by the area under the margin, because a tenth of this "
            f"training is {early_steps} steps, too few for early EL2N",
        )
    if much:
        return Chosen(
            "el2n", f"{share} is kept: the hardest examples by early EL2N carry most, and enough easy ones stay"
        )
    if keep is not None and keep <= 0.2 and epochs >= 10:
        return Chosen(
            "dual+beta",
            f"{share} is kept: keeping only the hardest collapses there, and sampling by DUAL, weighted towards easier "
            "examples the less is kept, has the best published results at a fifth or less",
        )
    return Chosen(
        "aum+strata",
        f"{share} is kept: keeping only the hardest collapses there, so all strata of difficulty are covered and the "
        "hardest, often mislabelled, are dropped",
    )


def automatic(source: Source, keep: float | None, recipe: Recipe) -> Chosen:
    """Return the method that `auto` stands for on this source."""
    early = max(1, round(0.1 * recipe.epochs)) * recipe.batches(len(source))
    return choose_method(source.task, keep, recipe.epochs, early)
