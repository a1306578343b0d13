"""The result of one training, as saved in a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.layouts import Json
from ..core.serialiser import Saved
from .class_metrics import f1_marks

__all__ = ["Marks", "Result"]


@dataclass(frozen=True)
class Marks:
    """The performance of one trained model on one test set; the last three hold its examples, if requested.

    Parameters
    ----------
    value
        Accuracy, mean average precision, or R2.
    loss
        Mean loss.
    per_class
        Accuracy per class, or average precision per label; empty for regression.
    examples
        The q_i, in canonical order.
    balanced_accuracy, macro_f1, auroc
        Further metrics of classification; None if they are not defined, or not known from an earlier version.
    predicted
        The predicted class of each example.
    placements
        The mark of each example in AUROC (`class_metrics`).
    beside
        Of several labels per example, other metrics of the same predictions, as in `Outcome`.
    """

    value: float
    loss: float
    per_class: tuple[float, ...]
    examples: tuple[float, ...] = ()
    balanced_accuracy: float | None = None
    macro_f1: float | None = None
    auroc: float | None = None
    predicted: tuple[int, ...] | None = None
    placements: tuple[float, ...] | None = None
    beside: tuple[float, ...] | None = None

    def of(self, metric: str) -> float:
        """The value of a metric; NaN if it is not known."""
        found = self.value if metric in ("accuracy", "map", "r2") else getattr(self, metric)
        return math.nan if found is None else float(found)

    def marks(self, metric: str, labels: NDArray[Any], classes: int) -> NDArray[np.float64]:
        """The mark of each test example in a metric; `labels` are those of the test set, in canonical order."""
        if metric == "macro_f1":
            return f1_marks(np.array(self.predicted, dtype=np.int64), labels, classes)
        return np.array(self.placements if metric == "auroc" else self.examples, dtype=np.float64)


@dataclass(frozen=True)
class Result(Saved, kind="training", layout=Json(indent=None), durations=("seconds",)):
    """The result of one training: its steps, the marks on each test set, in order, and its seconds."""

    iterations: int
    marks: tuple[Marks, ...]
    seconds: float = math.nan
