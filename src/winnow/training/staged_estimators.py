"""Estimators that learn in stages, so that they have dynamics as a network has: ten stages of one fit are looked at.

Boosting says what it would have predicted after each of its stages (`staged_predict_proba` and the like); the stages at
a tenth, two tenths and so on are taken. An estimator with `partial_fit` is given thirty passes over the examples, each
in a new random order, and looked at after every third. Others learn in one go and have no stages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ..core.seeds import stream
from .estimators import Answer, answered, fitting, new_copy, rows_and_targets
from .feed import Feed
from .loop import predicted
from .recipe import Recipe

__all__ = ["STAGES", "has_stages", "outputs_of", "staged"]

STAGES = 10
PASSES = 3  # of partial_fit between two looks
WAYS = {
    "classification": ("staged_predict_proba", "staged_decision_function"),
    "regression": ("staged_predict",),
}


def has_stages(model: Any, task: str) -> Literal["boosting", "passes"] | None:
    """How an estimator learns in stages; None if it does not.

    >>> from sklearn.linear_model import LogisticRegression, SGDClassifier
    >>> has_stages(LogisticRegression(), "classification"), has_stages(SGDClassifier(), "classification")
    (None, 'passes')
    """
    if any(hasattr(model, way) for way in WAYS[task]):
        return "boosting"
    return "passes" if hasattr(model, "partial_fit") else None


def staged(model: Any, feed: Feed, seed: int) -> Iterator[Answer]:
    """Fit a copy, and yield after each of ten stages a function that gives its outputs on a feed.

    Parameters
    ----------
    model, feed, seed
        As for `fitted`; the seed also decides the order of each pass.
    """
    copy = new_copy(model, seed)
    rows, wanted = rows_and_targets(feed)
    if has_stages(model, feed.source.task) == "boosting":
        with fitting(model):
            copy.fit(rows, wanted)
        way = next(name for name in WAYS[feed.source.task] if hasattr(copy, name))
        total = sum(1 for _ in getattr(copy, way)(rows[:1]))
        for stage in range(1, STAGES + 1):
            yield _after(copy, way, max(1, math.ceil(stage * total / STAGES)))
        return
    classes = {"classes": np.arange(len(feed.source.classes))} if feed.source.task == "classification" else {}
    for stage in range(STAGES):
        for turn in range(PASSES):
            order = stream(seed, "pass", stage, turn).permutation(len(rows))
            with fitting(model):
                copy.partial_fit(rows[order], wanted[order], **(classes if stage + turn == 0 else {}))
        yield lambda exam: answered(copy, exam)


def _after(copy: Any, way: str, stage: int) -> Answer:
    """The outputs of boosting after a stage, counted from 1."""

    def one(rows: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(next(islice(getattr(copy, way)(rows), stage - 1, None)))

    return lambda exam: answered(copy, exam, **{way.removeprefix("staged_"): one})


def outputs_of(
    model: torch.nn.Module | Callable[[Feed], NDArray[Any]], feed: Feed, recipe: Recipe
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Positions and outputs of a network, or of an estimator after a stage, for every example of a feed."""
    if isinstance(model, torch.nn.Module):
        yield from predicted(model, feed, recipe)
    else:
        yield np.arange(len(feed)), np.asarray(model(feed), dtype=np.float32)
