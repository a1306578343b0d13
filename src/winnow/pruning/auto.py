"""The candidate of `method="auto"`, chosen from the task and the sizes alone, and the reason for it.

It is only a candidate: `veto` compares it with a random subset with the same soft targets, and a candidate that fails
is not used. The rules below say which candidate to try. They were fixed on the development data of `studies/winning`,
which also says how they did on data not looked at before.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts import Source

__all__ = ["FEW", "Chosen", "automatic", "choose_method"]

FEW = 30  # examples kept per class; with fewer, covering the class works better than any score


@dataclass(frozen=True)
class Chosen:
    """A method, and the reason for it."""

    name: str
    why: str
    covers: bool = False  # the subset covers each class, which is safe enough to use without a trial


def choose_method(task: str, keep: float | None, size: int, classes: int = 0) -> Chosen:
    """Return the candidate of `auto`.

    Parameters
    ----------
    task
        Task of the source.
    keep
        Fraction to keep; None if a search will find it.
    size
        Number of examples to choose from.
    classes
        Number of classes.
    """
    if task == "regression":
        return Chosen(
            "difficulty+tilted(uniform=0.5)",
            "the target is a number: random draws; half of the sampling weight is the same for every example, half is "
            "proportional to the loss summed over training",
        )
    if task == "unlabelled":
        return Chosen(
            "medoids",
            "there are no labels: the subset has examples from every part of the data, more where the data are dense; "
            "nothing can be retrained to test whether hard or easy examples are better",
        )
    if task == "multilabel":
        return Chosen(
            "tilted",
            "examples have several labels: random draws that favour examples whose labels the network was uncertain "
            "about during training; easy examples can be drawn too",
        )
    kept = None if keep is None else keep * size / max(1, classes)
    if kept is not None and kept < FEW:
        return Chosen(
            "medoids",
            f"about {max(1, round(kept))} examples are kept per class: with fewer than {FEW}, covering each class "
            "works better than any score",
            covers=True,
        )
    return Chosen(
        "tilted",
        "random draws that favour examples the network was uncertain about during training; easy examples can be drawn "
        "too, because without them nothing holds the decision boundary in place",
    )


def automatic(source: Source, keep: float | None) -> Chosen:
    """Return the candidate of `auto` for this source."""
    return choose_method(source.task, keep, len(source), len(source.classes))
