"""Scikit-learn estimators instead of a network: the same arms, seeds, test sets and metrics, but no recipe.

Inputs and regression targets are standardised as for a network, and each example is one row. Weights are divided by
their mean before they are passed to `fit`, as for a network: the total weight of a weighted arm is then that of an
unweighted arm of the same size, and a penalty is equally strong in both. Equal weights count as no weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts import Source
from ..artefacts.sampler import epoch_order
from ..core.errors import DataError, InputError, NotDefinedError
from ..core.seeds import number, stream
from .feed import Feed
from .recipe import Recipe

__all__ = ["Answer", "answered", "check", "fitted", "fitting", "new_copy", "rows_and_targets"]

NEVER = -1e6  # the logit of a class that was not among the examples
Answer = Callable[[Feed], NDArray[np.float64]]


def check(
    source: Source, model: Any, *, recipe: object, match_iterations: float, by_weight: bool, owner: str = "evaluate"
) -> None:
    """Raise if what is requested cannot be done with this estimator.

    Parameters
    ----------
    source
        The training data.
    model
        The estimator.
    recipe, match_iterations
        As given to `evaluate`; both are about steps, which an estimator does not have.
    by_weight
        Whether weights will be passed to its `fit`.
    owner
        Who asks, for the messages.
    """
    from sklearn.base import is_classifier, is_regressor
    from sklearn.utils.validation import has_fit_parameter

    name = type(model).__name__
    if source.kind == "text":
        raise InputError(f"model of {owner} must be a network for text; {name} takes numbers: embed the texts first.")
    if source.task == "multilabel":
        raise NotDefinedError(f"model of {owner} must be a network for several labels per example; got {name}.")
    if not (is_classifier if source.task == "classification" else is_regressor)(model):
        raise InputError(f"model of {owner} must be an estimator for {source.task}; got {name}.")
    if source.task == "classification" and not any(
        hasattr(model, way) for way in ("predict_proba", "decision_function")
    ):
        raise InputError(f"model of {owner} must have predict_proba or decision_function; {name} has neither.")
    unusual = recipe is not None and recipe != Recipe()  # the command line always makes one
    if unusual or match_iterations > 0:
        which = "recipe" if unusual else "match_iterations"
        raise InputError(f"{which} of {owner} is for networks, which train step by step; {name} does not.")
    if by_weight and not has_fit_parameter(model, "sample_weight"):
        raise InputError(
            f"model of {owner} must take sample_weight in fit to train on weighted subsets, and {name} does not; use "
            "weighting='draw'."
        )


def fitted(
    model: Any, feed: Feed, seed: int, weights: NDArray[np.float64] | None, weighting: str
) -> tuple[float, Answer]:
    """Fit a copy; return the seconds and a function that gives its outputs on a feed, as logits for classes.

    Parameters
    ----------
    model
        The estimator, which is not changed.
    feed
        The training set.
    seed
        Sets every `random_state` it has, and the draws.
    weights
        Weights of the examples, in the feed's canonical order.
    weighting
        `loss` passes them to `fit`, divided by their mean; `draw` draws as many rows by weight as there are.
    """
    copy = new_copy(model, seed)
    rows, wanted = rows_and_targets(feed)
    given = {} if weights is None or weighting == "draw" else {"sample_weight": weights / weights.mean()}
    if weights is not None and weighting == "draw":
        drawn = epoch_order(weights, stream(seed, "draws"))
        rows, wanted = rows[drawn], wanted[drawn]
    start = time.perf_counter()
    with fitting(model):
        copy.fit(rows, wanted, **given)
    return time.perf_counter() - start, lambda exam: answered(copy, exam)


def new_copy(model: Any, seed: int) -> Any:
    """An estimator of the same kind that is not fitted, with every `random_state` set by the seed."""
    from sklearn.base import clone

    copy = clone(model)
    states = [name for name in copy.get_params(deep=True) if name.split("__")[-1] == "random_state"]
    return copy.set_params(**{name: number(seed, name) % 2**32 for name in states})


def rows_and_targets(feed: Feed) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The scaled examples of a feed, one row each, and their targets."""
    targets = feed.targets
    if targets is None:
        raise NotDefinedError(f"fitting needs labels or a regression target; source {feed.source.name!r} has neither.")
    return _rows(feed), targets.numpy() if targets.ndim == 1 or targets.shape[1] > 1 else targets.numpy()[:, 0]


@contextmanager
def fitting(model: Any) -> Iterator[None]:
    """Fit within the block: as many threads as the engine allows, and a refusal in one sentence."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(torch.get_num_threads()):
            yield
    except ValueError as error:
        why = str(error).strip().splitlines()[0].rstrip(".")
        raise DataError(f"{type(model).__name__} cannot be fitted: {why}.") from None


def _rows(feed: Feed) -> NDArray[np.float64]:
    return feed.inputs(np.arange(len(feed))).flatten(1).numpy().astype(np.float64)


def answered(estimator: Any, exam: Feed, **ways: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[np.float64]:
    """The outputs of a fitted estimator on a feed, as logits for classes.

    Parameters
    ----------
    estimator
        The estimator.
    exam
        The examples.
    **ways
        What to call instead of its own `predict_proba`, `decision_function` or `predict`: that after a stage.
    """
    rows = _rows(exam)
    if exam.source.task != "classification":
        found = ways.get("predict", estimator.predict)(rows)
        return np.asarray(found, dtype=np.float64).reshape(len(exam), -1)
    if "decision_function" in ways or not (ways or hasattr(estimator, "predict_proba")):
        found = np.asarray(ways.get("decision_function", estimator.decision_function)(rows), dtype=np.float64)
        found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
        found = np.stack([-found, found], 1) / 2 if found.ndim == 1 else found
    else:
        chances = ways.get("predict_proba", estimator.predict_proba)(rows)
        found = np.log(np.maximum(chances, np.finfo(np.float64).eps))
    table = np.full((len(exam), len(exam.source.classes)), NEVER)
    table[:, estimator.classes_] = found
    return table
