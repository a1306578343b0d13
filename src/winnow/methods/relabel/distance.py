"""How far one representation is from another: what a linear map from the first cannot tell of the second.

Definition 4 of Sun et al. 2024 asks how often the best linear map of one representation fails to hit the other, which
for real vectors it always does. Two forms stand in for it, both on rows that the map was not fitted to:

| form | distance from a to b |
|---|---|
| `regression` | 1 - R^2 of ridge regression of b on a; 0 is perfect, 1 no better than the mean, more worse |
| `neighbour` | share of rows whose mapped vector is not nearest to its own vector of b among those held out |

Neither is symmetric. The strength of the ridge is chosen by generalised cross-validation inside the fitted rows, so
that held-out rows choose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...artefacts import Signals, Source
from ...artefacts.targets import Targets
from ...core import checks, seeds
from ...core.errors import InputError
from ...sources.arrays import to_numpy
from .comparison import Comparison
from .linear_map import errors

__all__ = ["FORMS", "Comparison", "compare", "representation_distance"]

Array = NDArray[np.float64]
FORMS = ("regression", "neighbour")


def representation_distance(
    a: Any,
    b: Any,
    *,
    form: str = "regression",
    held_out: float = 0.2,
    ridge: float | None = None,
    rows: int = 10_000,
    seed: int = 0,
) -> float:
    """Distance from representation `a` to `b` of the same examples: how ill a linear map of a predicts b.

    Parameters
    ----------
    a, b
        A vector an example each: arrays whose rows belong together, or Signals or Targets, matched by id.
    form
        `regression`: 1 - R^2 on held-out rows, which may exceed 1 where the map misleads. `neighbour`: the share of
        held-out rows whose mapped vector is nearest to another row's; it grows with the number of rows held out.
    held_out
        Share of the rows that the map is judged on.
    ridge
        Strength of the ridge beside the largest squared singular value of a; chosen inside the fitted rows unless
        given.
    rows
        Rows used at most, drawn at random.
    seed
        Decides which rows are used and held out.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.random.default_rng(0).normal(size=(200, 5))
    >>> round(representation_distance(a, a @ np.ones((5, 2))), 6)
    0.0
    """
    owner = "relabel.representation_distance"
    first, second = _matched(owner, {"a": a, "b": b}).values()
    fitted, judged = _split(owner, len(first), form, held_out, ridge, rows, seed)
    return float(errors(owner, first, second, fitted, judged, form, ridge).mean())


def compare(
    representations: Mapping[str, Any],
    *,
    labels: Source | ArrayLike | None = None,
    form: str = "regression",
    held_out: float = 0.2,
    ridge: float | None = None,
    rows: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Distances from each representation to each other one, and which prior they speak for.

    Theorem 3 of the paper asks for a prior from which the best representation is predicted well. Nobody has that one,
    so the advice takes the prior from which the others are predicted best; with labels, the one from which they are.

    Parameters
    ----------
    representations
        By name, as `representation_distance` takes them; two or more.
    labels
        To go by these instead: the Source, whose labels are matched by id, or for plain arrays also class numbers in
        the order of the rows.
    form, held_out, ridge, rows, seed
        As of `representation_distance`.
    """
    owner = "relabel.compare"
    if not isinstance(representations, Mapping) or len(representations) < 2:
        raise InputError(
            f"representations of {owner} must be two or more, by name; got "
            f"{len(representations) if isinstance(representations, Mapping) else type(representations).__name__}."
        )
    known = _matched(owner, representations)
    n = len(next(iter(known.values())))
    one_hot = None if labels is None else _one_hot(owner, labels, n, _ids(representations))
    fitted, judged = _split(owner, n, form, held_out, ridge, rows, seed)

    def missed(source: NDArray[Any], target: NDArray[Any], how: str = form) -> Array:
        return errors(owner, source, target, fitted, judged, how, ridge)

    found = [[missed(a, b) for b in known.values()] for a in known.values()]
    matrix = np.array([[one.mean() for one in row] for row in found])
    if one_hot is None:
        each = np.array([np.mean([e for j, e in enumerate(row) if j != i], axis=0) for i, row in enumerate(found)])
    else:  # a label has no neighbours of its own to be told from
        each = np.array([missed(a, one_hot, "regression") for a in known.values()])
    means = each.mean(axis=1)
    best, next_best = np.argsort(means, kind="stable")[:2]
    apart = each[next_best] - each[best]
    return Comparison(
        tuple(known),
        tuple(a.shape[1] for a in known.values()),
        matrix,
        None if one_hot is None else means,
        means,
        float(apart.std(ddof=1) / np.sqrt(len(judged))),
        form,
        len(judged),
    )


def _matched(owner: str, given: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The representations as arrays whose rows belong together."""
    by_id = {name: value for name, value in given.items() if isinstance(value, Signals | Targets)}
    if by_id and len(by_id) != len(given):
        raise InputError(f"representations of {owner} must all carry ids or all be arrays, to be matched by row.")
    ids = _ids(given)
    found: dict[str, NDArray[Any]] = {}
    for name, value in given.items():
        if isinstance(value, Signals):
            value = value.take([] if ids is None else ids).array("embeddings", owner)
        elif isinstance(value, Targets):
            value = value.at([] if ids is None else ids)
        found[name] = checks.array(name, owner, to_numpy(value, name, owner), ndim=2)
    counts = {name: len(value) for name, value in found.items()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(f"representations of {owner} must have a row for each of the same examples; {said}.")
    return found


def _ids(given: Mapping[str, Any]) -> NDArray[Any] | None:
    """The ids that rows go by: those of the first representation that carries any."""
    return next((value.ids for value in given.values() if isinstance(value, Signals | Targets)), None)


def _one_hot(owner: str, labels: Source | ArrayLike, n: int, ids: NDArray[Any] | None) -> Array:
    if isinstance(labels, Source):
        if labels.task != "classification" or labels.labels is None:
            raise InputError(f"labels of {owner} must be classes; source {labels.name!r} is {labels.task}.")
        labels = labels.labels if ids is None else labels.labels[labels.positions(ids)]
    elif ids is not None:  # targets are sorted by id: a row's place in them is not its place in the source
        raise InputError(f"labels of {owner} must be a Source where representations carry ids, to be matched by id.")
    numbers = checks.array("labels", owner, labels, ndim=1, rows=n)
    return np.eye(len(np.unique(numbers)))[np.unique(numbers, return_inverse=True)[1]]


def _split(
    owner: str, n: int, form: object, held_out: object, ridge: object, rows: object, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to fit and rows to judge by; arguments are checked here."""
    checks.choice("form", owner, form, FORMS)
    share = checks.number("held_out", owner, held_out, low=0, high=1, open_low=True, open_high=True)
    if ridge is not None:
        checks.number("ridge", owner, ridge, low=0, open_low=True)
    most = checks.integer("rows", owner, rows, low=4)
    if n < 4:
        raise InputError(f"representations of {owner} must have at least 4 rows, to fit and to judge; got {n}.")
    order = seeds.stream(seed, "representation distance").permutation(n)[:most]
    judged = min(max(2, round(share * len(order))), len(order) - 2)
    return np.sort(order[judged:]), np.sort(order[:judged])
