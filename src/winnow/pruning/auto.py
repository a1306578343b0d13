"""What `method="auto"` stands for: a candidate from the sizes alone, and the reason for it.

The candidate is only a candidate: `veto` measures it against a random subset with the same soft targets, and what does
not hold there is not used. The rules below say what is worth measuring. They were fixed on the development data of
`studies/winning`, which also says how they did on data that nobody had looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts import Source
from ..training.recipe import Recipe

__all__ = ["FEW", "Chosen", "automatic", "choose_method"]

FEW = 30  # examples kept per class; below it, covering the class is worth more than any score
SHORTEST = 4  # epochs; windows of training dynamics need at least two halves of two


@dataclass(frozen=True)
class Chosen:
    """A method, and the reason for it."""

    name: str
    why: str


def choose_method(task: str, keep: float | None, size: int, classes: int = 0, epochs: int = 30) -> Chosen:
    """Return the candidate of `auto`.

    Parameters
    ----------
    task
        The source's task.
    keep
        The fraction kept; None if a search will find it.
    size
        Number of examples to choose from.
    classes
        Number of classes.
    epochs
        Epochs of the observation.
    """
    if task == "regression":
        return Chosen(
            "difficulty+strata",
            "the target is a number: difficulty is the summed loss, and every level of it is covered",
        )
    if task == "unlabelled":
        return Chosen(
            "prototype+strata",
            "there are no labels: difficulty is the distance to the nearest prototype, and every level of it is covered, "
            "because nothing can be retrained to show that the hardest are worth more",
        )
    kept = None if keep is None else keep * size / max(1, classes)
    if kept is not None and kept < FEW:
        return Chosen(
            "medoids",
            f"about {max(1, round(kept))} examples are kept per class: with fewer than {FEW}, covering each class works "
            "better than any score",
        )
    if epochs < SHORTEST:
        return Chosen(
            "aum+strata",
            f"{epochs} epochs are too few to see predictions change, so every level of difficulty by the margin is covered",
        )
    return Chosen(
        "dual+beta(uniform=0.5)",
        "half is drawn by how uncertain training was about an example (DUAL with beta sampling), half at random, "
        "because a mixture keeps most of the gain and little of the risk",
    )


def automatic(source: Source, keep: float | None, recipe: Recipe) -> Chosen:
    """Return the candidate of `auto` on this source."""
    return choose_method(source.task, keep, len(source), len(source.classes), recipe.epochs)
