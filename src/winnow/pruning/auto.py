"""What `method="auto"` stands for: a candidate from the sizes alone, and the reason for it.

The candidate is only a candidate: `veto` measures it against a random subset with the same soft targets, and what does
not hold there is not used. The rules below say what is worth measuring. They were fixed on the development data of
`studies/winning`, which also says how they did on data that nobody had looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts import Source

__all__ = ["FEW", "Chosen", "automatic", "choose_method"]

FEW = 30  # examples kept per class; below it, covering the class is worth more than any score


@dataclass(frozen=True)
class Chosen:
    """A method, and the reason for it."""

    name: str
    why: str
    covers: bool = False  # the choice spreads over each class, which is safe enough to be used untried


def choose_method(task: str, keep: float | None, size: int, classes: int = 0) -> Chosen:
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
    """
    if task == "regression":
        return Chosen(
            "difficulty+tilted(uniform=0.5)",
            "the target is a number: half of an example's chance follows its summed loss, half is the same for all",
        )
    if task == "unlabelled":
        return Chosen(
            "medoids",
            "there are no labels: the subset has an example of every part of the data, and more where there are more. "
            "Nothing can be retrained to show that hard or easy ones are worth more",
        )
    if task == "multilabel":
        return Chosen(
            "tilted",
            "examples have several labels: random draws that lean towards examples whose labels training was undecided "
            "about; easy ones stay",
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
        "random draws that lean towards examples that training was undecided about; easy ones stay, because without "
        "them nothing holds the boundary in place",
    )


def automatic(source: Source, keep: float | None) -> Chosen:
    """Return the candidate of `auto` on this source."""
    return choose_method(source.task, keep, len(source), len(source.classes))
