"""`score`: check, sort by id, call one pure function, and measure its reliability.

Reliability is the rank correlation (Spearman) between the score from the even and from the odd seeds. A score of
embeddings is compared with the same score from the next seed's network, if that was observed; otherwise, if the score
has a `seed` parameter, with the same score under another seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, record
from ..artefacts.frozen_arrays import order_of
from ..artefacts.labelled_logits import DYNAMICS
from ..core import checks, registry
from ..core.comparisons import check_comparisons
from ..core.errors import InputError, NotDefinedError
from ..core.rank_correlation import rank_correlation
from .arithmetic import resolve_epoch

__all__ = ["list_scores", "score"]


def score(name: str, signals: Signals, **parameters: Any) -> Scores:
    """Compute a score: one number per example; higher means harder, except for `dynamic_uncertainty`.

    Parameters
    ----------
    name
        A registered score; `list_scores()` lists them.
    signals
        The observed signals; they must have the arrays that the score needs.
    parameters
        Parameters of the score, by name, such as `epoch=`.

    Returns
    -------
    Scores
        One value per example, with its reliability if it can be measured.

    Raises
    ------
    UnknownNameError
        If there is no score or parameter of that name.
    NotDefinedError
        If the score is not defined for this task or these signals.
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> import winnow as wn
    >>> rec = wn.Recorder(3, classes=2)
    >>> rec.log([0, 1, 2], [[3.0, 0.0], [0.0, 0.0], [3.0, 0.0]], [0, 0, 1])
    >>> rec.end_epoch()
    >>> score("el2n", rec.signals()).values.round(2).tolist()
    [0.07, 0.71, 1.35]
    """
    method = registry.get("score", name)
    if not isinstance(signals, Signals):
        raise InputError(
            f"signals of score {name!r} must be Signals (from wn.observe or wn.embed); got {type(signals).__name__}."
        )
    method.check_parameters(parameters)
    settings = _settings(method, signals, parameters)
    check_comparisons(f"score {name!r}", method, settings, len(signals), signals.labels)
    order = order_of(signals.ids)
    canonical = _only_needed(method, signals).canonical()
    again = {
        name: held if order is None else np.take(held, order, axis=signals.example_axis(name))
        for name in method.needs
        if (held := signals.arrays.get(name + registry.AGAIN)) is not None
    }
    values = found = _computed(method, canonical, settings)
    if order is not None:
        values = np.empty(len(signals))
        values[order] = found
    return Scores(
        name=name,
        ids=signals.ids,
        values=values,
        reliability=_reliability(method, canonical, settings, again, found),
        task=signals.task,
        labels=signals.labels,
        classes=signals.classes,
        provenance=record(
            "score",
            {"name": name, **settings},
            {"signals": {**signals.provenance, "fingerprint": signals.fingerprint}},
        ),
    )


def list_scores() -> list[registry.Method]:
    """List all registered scores with their needs, tasks, parameters and papers.

    Returns
    -------
    list of Method
        Sorted by name.

    Examples
    --------
    >>> "el2n" in [method.name for method in list_scores()]
    True
    """
    return registry.listing("score")


def _settings(method: registry.Method, signals: Signals, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check everything the score relies on; return its parameters with defaults filled in and the epoch as a number."""
    owner = f"score {method.name!r}"
    if signals.task not in method.tasks:
        raise NotDefinedError(
            f"{owner} is defined for {' and '.join(sorted(method.tasks))}, not for {signals.task} "
            f"signals: {_why_not(method, signals)}."
        )
    for name in sorted(method.needs):
        signals.origin(name, owner)
    for name in sorted(method.needs & {"logits", *DYNAMICS}):
        _check_epochs(signals, name, owner)
    settings = {**method.parameters, **given}
    if "seed" in settings:
        settings["seed"] = checks.integer("seed", owner, settings["seed"], low=0)
    if "epoch" in settings:  # so that the provenance has the epoch as a number
        settings["epoch"] = resolve_epoch(signals, settings["epoch"], owner)
    return settings


def _why_not(method: registry.Method, signals: Signals) -> str:
    if method.needs & {"logits", "probabilities", "errors"} and signals.task == "regression":
        return "it reads class probabilities"
    if signals.task == "unlabelled":
        return "it compares with labels, and there are none"
    if signals.task == "multilabel":
        return "it is about one class per example"
    return "it compares with class labels"


def _check_epochs(signals: Signals, name: str, owner: str) -> None:
    """Check that there is an epoch to read and, where an array is computed from logits, that they fit the labels."""
    origin = signals.origin(name)
    if not signals.epochs:
        raise NotDefinedError(f"{owner} needs {origin} of at least one recorded epoch; got none.")
    if origin != "logits":
        return
    columns = signals.logits.shape[3]
    if columns < 2 and signals.task != "multilabel":
        raise NotDefinedError(f"{owner} needs logits of two classes or more; got {columns}.")
    if signals.task == "classification" and signals.labels is not None:
        low, high = int(signals.labels.min()), int(signals.labels.max())
        if low < 0 or high >= columns:
            raise InputError(
                f"labels of the signals for {owner} must be class numbers from 0 to {columns - 1}; got "
                f"{low if low < 0 else high}."
            )


def _only_needed(method: registry.Method, signals: Signals) -> Signals:
    """The same examples with only the arrays that the score reads, so that no others are sorted or split."""
    names = {signals.origin(name) for name in method.needs} or {
        min(signals.arrays, key=lambda name: signals.arrays[name].nbytes)
    }
    names |= method.uses & signals.arrays.keys()
    return replace(signals, arrays={name: signals.arrays[name] for name in sorted(names)})


def _computed(method: registry.Method, signals: Signals, settings: Mapping[str, Any]) -> NDArray[np.float64]:
    values = np.asarray(method.function(signals, **settings), dtype=np.float64)
    return checks.array("values", f"score {method.name!r}", values, ndim=1, rows=len(signals))


def _reliability(
    method: registry.Method,
    signals: Signals,
    settings: Mapping[str, Any],
    again: Mapping[str, NDArray[Any]],
    found: NDArray[np.float64],
) -> float | None:
    """Rank correlation between halves of the seeds; None if there is nothing to compare.

    `again` has arrays without seeds (embeddings) from the next seed's network, in canonical order, if observed; `found`
    has the values of the first.
    """
    if any(signals.stacked(name) for name in method.needs):
        if signals.seeds < 2:
            return None
        try:
            first, second = (
                _computed(method, signals.only_seeds(range(start, signals.seeds, 2)), settings) for start in (0, 1)
            )
        except NotDefinedError:  # half an ensemble may leave an example in every subset
            return None
    elif again:
        other = replace(signals, arrays={**signals.arrays, **again})
        first, second = found, _computed(method, other, settings)
    elif "seed" in settings:
        first, second = found, _computed(method, signals, {**settings, "seed": settings["seed"] + 1})
    else:
        return None
    return None if np.ptp(first) == 0 or np.ptp(second) == 0 else rank_correlation(first, second)
