"""What came of one training, as a run keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.layouts import Json
from ..core.serialiser import Saved

__all__ = ["Marks", "Result"]


@dataclass(frozen=True)
class Marks:
    """What one trained model reached on one test set; `examples` are the q_i where they were asked for."""

    value: float
    loss: float
    per_class: tuple[float, ...]
    examples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Result(Saved, kind="training", layout=Json(indent=None)):
    """What came of one training: steps and seconds of it, and the marks on each test set in order."""

    iterations: int
    seconds: float
    marks: tuple[Marks, ...]
