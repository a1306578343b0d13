"""The result of one training, as saved in a run."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.layouts import Json
from ..core.serialiser import Saved

__all__ = ["Marks", "Result"]


@dataclass(frozen=True)
class Marks:
    """The performance of one trained model on one test set; `examples` holds the q_i if requested.

    `beside` holds other metrics of the same predictions, as in `Outcome`.
    """

    value: float
    loss: float
    per_class: tuple[float, ...]
    examples: tuple[float, ...] = ()
    beside: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Result(Saved, kind="training", layout=Json(indent=None)):
    """The result of one training: its steps and seconds, and the marks on each test set, in order."""

    iterations: int
    seconds: float
    marks: tuple[Marks, ...]
