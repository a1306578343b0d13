"""Rotating folds: every example is held out once, and what is left of the source is trained on.

A single hold-out of a fifth leaves four fifths of the examples unmeasured and the fifth in no subset. With five folds,
every example is measured by networks that have not seen it, for the same number of trainings: those that would have
differed by their seed only differ by their fold too.

Folds are drawn by id, classes are spread evenly over them, and groups stay whole (`signals.folds`). A source does not
rotate if its examples have times, because what is measured would then be the past judged by the future, or if it is so
small that a fold would lack a class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.label_sets import label_set_numbers
from ..core.errors import InputError
from ..signals.folds import fold_numbers
from ..sources.holdout import split_at

__all__ = ["FOLDS", "rotating_folds"]

FOLDS = 5
NAMES = ("train", "validation")


def rotating_folds(source: Source, seed: int, folds: int = FOLDS) -> list[tuple[Source, Source]] | None:
    """Return, per fold, the source without it and the fold itself; None if the source cannot be divided so.

    Parameters
    ----------
    source
        The labelled source.
    seed
        Seed of the draw.
    folds
        Number of folds.
    """
    if source.times is not None or source.labels is None:
        return None
    labels = np.asarray(source.labels)
    kinds = label_set_numbers(labels) if source.task == "multilabel" else labels
    try:
        numbers = fold_numbers(source.ids, folds, seed, None if source.task == "regression" else kinds, source.groups)
    except InputError:  # fewer groups than folds
        return None
    if not all(_measurable(labels, numbers == fold, source.task) for fold in range(folds)):
        return None
    about = {"folds": folds, "seed": seed}
    return [split_at(source, numbers == fold, NAMES, {**about, "fold": fold}) for fold in range(folds)]


def _measurable(labels: NDArray[np.generic], inside: NDArray[np.bool_], task: str) -> bool:
    """Whether a fold has what metrics need, and the rest what a training needs."""
    held, rest = labels[inside], labels[~inside]
    if len(held) < 2:
        return False
    if task == "classification":
        return bool(np.array_equal(np.unique(held), np.unique(labels)) and np.isin(held, rest).all())
    told = np.ptp(held.reshape(len(held), -1), axis=0) > 0
    return bool(told.any()) if task == "multilabel" else bool(told.all())
