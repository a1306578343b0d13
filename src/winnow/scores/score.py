"""The door to the scores: `score` checks, sorts by id, calls one pure function, and says how reliable it is.

Reliability is the rank correlation (Spearman) between the score from the even and from the odd seeds. A score of
embeddings is compared with the same score of the next seed's network, where that was observed; otherwise, if it takes
a `seed` itself, with the same score under another seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores, Signals, record
from ..core import checks, registry
from ..core.errors import InputError, NotDefinedError
from .arithmetic import resolve_epoch

__all__ = ["list_scores", "score"]


def score(name: str, signals: Signals, **parameters: Any) -> Scores:
    """One number an example; higher always means harder.

    Parameters
    ----------
    name
        A registered score; `list_scores()` lists them.
    signals
        What was observed; it must hold the arrays the score needs.
    parameters
        Of the score, by name, such as `epoch=`.
    """
    method = registry.get("score", name)
    if not isinstance(signals, Signals):
        raise InputError(
            f"signals of score {name!r} must be Signals (from wn.observe or wn.embed); got {type(signals).__name__}."
        )
    method.check_parameters(parameters)
    settings = _settings(method, signals, parameters)
    order = np.argsort(signals.ids, kind="stable")
    canonical = _only_needed(method, signals).canonical()
    again = {
        name: np.take(signals.arrays[name + registry.AGAIN], order, axis=signals.example_axis(name))
        for name in method.needs
        if name + registry.AGAIN in signals
    }
    values = np.empty(len(signals))
    values[order] = _computed(method, canonical, settings)
    return Scores(
        name=name,
        ids=signals.ids,
        values=values,
        reliability=_reliability(method, canonical, settings, again),
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
    """All registered scores with their needs, tasks, parameters and papers."""
    return registry.listing("score")


def _settings(method: registry.Method, signals: Signals, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with defaults filled in and the epoch named, once everything the score relies on is checked."""
    owner = f"score {method.name!r}"
    if signals.task not in method.tasks:
        raise NotDefinedError(
            f"{owner} is defined for {' and '.join(sorted(method.tasks))}, not for {signals.task} "
            f"signals: {_why_not(method, signals)}."
        )
    for name in sorted(method.needs):
        signals.array(name, owner)
    if "logits" in method.needs:
        _check_logits(signals, owner)
    settings = {**method.parameters, **given}
    if "seed" in settings:
        settings["seed"] = checks.integer("seed", owner, settings["seed"], low=0)
    if "epoch" in settings:  # so that the provenance states the epoch, not the word for it
        settings["epoch"] = resolve_epoch(signals, settings["epoch"], owner)
    return settings


def _why_not(method: registry.Method, signals: Signals) -> str:
    if "logits" in method.needs and signals.task == "regression":
        return "it reads class probabilities"
    if signals.task == "unlabelled":
        return "it compares with labels, and there are none"
    return "it compares with class labels"


def _check_logits(signals: Signals, owner: str) -> None:
    columns = signals.logits.shape[3]
    if columns < 2:
        raise NotDefinedError(f"{owner} needs logits of two classes or more; got {columns}.")
    if not signals.epochs:
        raise NotDefinedError(f"{owner} needs logits of at least one recorded epoch; got none.")
    if signals.task == "classification" and signals.labels is not None:
        low, high = int(signals.labels.min()), int(signals.labels.max())
        if low < 0 or high >= columns:
            raise InputError(
                f"labels of the signals for {owner} must be class numbers from 0 to {columns - 1}; got "
                f"{low if low < 0 else high}."
            )


def _only_needed(method: registry.Method, signals: Signals) -> Signals:
    """The same examples with no more arrays than the score reads, so that no more is sorted or split."""
    names = method.needs or {min(signals.arrays, key=lambda name: signals.arrays[name].nbytes)}
    return replace(signals, arrays={name: signals.arrays[name] for name in sorted(names)})


def _computed(method: registry.Method, signals: Signals, settings: Mapping[str, Any]) -> NDArray[np.float64]:
    values = np.asarray(method.function(signals, **settings), dtype=np.float64)
    return checks.array("values", f"score {method.name!r}", values, ndim=1, rows=len(signals))


def _reliability(
    method: registry.Method, signals: Signals, settings: Mapping[str, Any], again: Mapping[str, NDArray[Any]]
) -> float | None:
    """Rank correlation between halves of the seeds; None where there is nothing to compare.

    `again` holds arrays without seeds (embeddings) by the next seed's network, in canonical order, if observed.
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
        first, second = (_computed(method, seen, settings) for seen in (signals, other))
    elif "seed" in settings:
        first, second = (_computed(method, signals, {**settings, "seed": settings["seed"] + step}) for step in (0, 1))
    else:
        return None
    return _spearman(first, second)


def _spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.clip(np.corrcoef(_ranks(first), _ranks(second))[0, 1], -1.0, 1.0))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, ties sharing their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[group])
