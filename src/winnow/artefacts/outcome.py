"""The rows of a Study: its arms, and the outcome of each training on each test set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Arm", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """One trained model measured on one test set.

    Parameters
    ----------
    arm
        The training set it was trained on.
    seed
        The training seed; arms are compared by seed.
    test
        Name of the test set.
    value
        The study's metric on the test set.
    loss
        Mean loss on the test set.
    per_class
        Accuracy per class, or average precision per label; NaN for one that the test set lacks; empty for regression.
    iterations
        Optimiser steps taken.
    seconds
        Seconds of training, without testing.
    marks
        Whether each test example is right, or its part of R2 or of mean average precision, as `example_marks` packs it;
        None if it was not kept.
    accuracy, balanced_accuracy, macro_f1, auroc
        Metrics of classification, whichever the study's own is; None or NaN if unknown.
    predicted, placements
        The predicted class of each test example, and its mark in AUROC (`class_metrics`), packed; None if not kept.
    beside
        Of several labels per example, the other metrics of the same predictions (`class_metrics.LABEL_F1`): for each,
        its value and its standard error over test examples.
    """

    arm: str
    seed: int
    test: str
    value: float
    loss: float
    per_class: tuple[float, ...]
    iterations: int
    seconds: float
    marks: bytes | None = None
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    macro_f1: float | None = None
    auroc: float | None = None
    predicted: bytes | None = None
    placements: bytes | None = None
    beside: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Arm:
    """One training set of a study.

    Parameters
    ----------
    name
        Its name in tables.
    kind
        `full`; `everything` (all the data for as many steps as a subset gets), `random` or `subset`.
    size, keep
        The number of examples, and the fraction of the full data.
    baseline
        For a subset, the random arm of the same size.
    class_balance
        Mean of smaller count / larger count over pairs of classes; None for regression.
    selection
        Seconds spent on finding it, by stage (`plan`, `observe`, `score`, `select`, `veto`, `search`), and on making
        what it is trained with (`targets`, `pretrain`); empty if unknown.
    certificate
        The subset's own certificate.
    redrawn
        Whether each seed has its own subset.
    soft
        Whether it is trained on soft targets.
    same_steps
        For everything: the size whose number of steps it takes.
    repeated
        For everything: whether each epoch visits a random part of that size, drawn anew.
    dynamic
        For everything: whether a `DynamicSampler` draws the batches.
    """

    name: str
    kind: Literal["full", "everything", "random", "subset"]
    size: int
    keep: float
    baseline: str | None = None
    class_balance: float | None = None
    selection: Mapping[str, float] = field(default_factory=dict)
    certificate: Mapping[str, Any] = field(default_factory=dict)
    redrawn: bool | None = None
    soft: bool | None = None
    same_steps: int | None = None
    repeated: bool | None = None
    dynamic: bool | None = None

    @property
    def drawn_anew(self) -> bool:
        """Whether each seed has its own subset, so that the luck of a draw is in the spread between seeds."""
        return self.kind == "random" or bool(self.redrawn)

    @property
    def in_plain_passes(self) -> bool:
        """Whether it is trained on labels only, in shuffled passes over its examples."""
        return not (self.soft or self.repeated or self.dynamic)
