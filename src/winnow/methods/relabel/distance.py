"""The distance between two representations: how much of the second a linear map of the first cannot predict.

Definition 4 of Sun et al. 2024 asks how often the best linear map of one representation fails to hit the other exactly,
which for real vectors is always. Two forms replace it, both on rows that the map was not fitted to:

| form | distance from a to b |
|---|---|
| `regression` | 1 - R^2 of ridge regression of b on a; 0 is perfect, 1 no better than the mean, more is worse |
| `neighbour` | share of rows whose mapped vector is not nearest to its own vector of b among the held-out rows |

Neither is symmetric. The strength of the ridge is chosen by generalised cross-validation within the fitted rows, so
held-out rows are not used to choose anything.
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

__all__ = ["Comparison", "FORMS", "STRENGTHS", "compare", "representation_distance"]

Array = NDArray[np.float64]
FORMS = ("regression", "neighbour")
STRENGTHS = 10.0 ** np.arange(-8.0, 3.0)  # of the ridge, relative to the largest squared singular value
SAME = 1e-12  # a relative difference below this is rounding
CHUNK = 512  # rows compared with all others at a time


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
    """Compute the distance from representation `a` to `b` of the same examples: how badly a linear map of a predicts b.

    Parameters
    ----------
    a, b
        One vector per example each: arrays with matching rows, or Signals or Targets, matched by id.
    form
        `regression`: 1 - R^2 on held-out rows, which exceeds 1 if the map is worse than the mean. `neighbour`: the
        share of held-out rows whose mapped vector is nearest to another row's; it grows with the number of such rows.
    held_out
        Share of the rows on which the map is judged.
    ridge
        Strength of the ridge, relative to the largest squared singular value of a; if not given, chosen within the
        fitted rows.
    rows
        Maximum number of rows used, drawn at random.
    seed
        Seed of which rows are used and held out.

    Returns
    -------
    float
        The distance; 0 means that a linear map predicts b perfectly.

    Raises
    ------
    InputError
        If the rows do not match, or an argument is out of range.

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
    return float(_errors(owner, first, second, fitted, judged, form, ridge).mean())


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
    """Compute the distance from each representation to each other one, and suggest a prior.

    Theorem 3 of the paper asks for a prior from which the best representation is predicted well. That representation is
    unknown, so the advice takes the prior from which the others are predicted best; with labels, the one from which the
    labels are.

    Parameters
    ----------
    representations
        Two or more, by name, as for `representation_distance`.
    labels
        If given, decide by these instead: the Source, whose labels are matched by id, or, for plain arrays, class
        numbers in the order of the rows.
    form, held_out, ridge, rows, seed
        As for `representation_distance`.

    Returns
    -------
    Comparison
        The matrix of distances, and `advice`.

    Raises
    ------
    InputError
        If there are fewer than two representations, the rows do not match, or an argument is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.random.default_rng(0).normal(size=(200, 5))
    >>> compare({"all": a, "part": a[:, :2]}).best  # from "all" the other is predicted exactly
    'all'
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
        return _errors(owner, source, target, fitted, judged, how, ridge)

    found = [[missed(a, b) for b in known.values()] for a in known.values()]
    matrix = np.array([[one.mean() for one in row] for row in found])
    if one_hot is None:
        each = np.array([np.mean([e for j, e in enumerate(row) if j != i], axis=0) for i, row in enumerate(found)])
    else:  # labels have no distinct neighbours
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
    """Return the representations as arrays with matching rows."""
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
        raise InputError(f"representations of {owner} must have one row for each of the same examples; {said}.")
    return found


def _ids(given: Mapping[str, Any]) -> NDArray[Any] | None:
    """The ids of the rows: those of the first representation that has any."""
    return next((value.ids for value in given.values() if isinstance(value, Signals | Targets)), None)


def _one_hot(owner: str, labels: Source | ArrayLike, n: int, ids: NDArray[Any] | None) -> Array:
    if isinstance(labels, Source):
        if labels.task != "classification" or labels.labels is None:
            raise InputError(f"labels of {owner} must be classes; source {labels.name!r} is {labels.task}.")
        labels = labels.labels if ids is None else labels.labels[labels.positions(ids)]
    elif ids is not None:  # targets are sorted by id, so a row's position differs from that in the source
        raise InputError(f"labels of {owner} must be a Source where representations carry ids, to be matched by id.")
    numbers = checks.array("labels", owner, labels, ndim=1, rows=n)
    return np.eye(len(np.unique(numbers)))[np.unique(numbers, return_inverse=True)[1]]


def _split(
    owner: str, n: int, form: object, held_out: object, ridge: object, rows: object, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check the arguments; return the rows to fit and the rows to judge."""
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


def _errors(
    owner: str,
    a: NDArray[Any],
    b: NDArray[Any],
    fitted: NDArray[np.int64],
    judged: NDArray[np.int64],
    form: str,
    ridge: float | None,
) -> Array:
    """Return the error of each held-out row; their mean is the distance."""
    x, y = a[fitted].astype(np.float64), b[fitted].astype(np.float64)
    centre, middle = x.mean(axis=0), y.mean(axis=0)
    x -= centre
    y -= middle
    spread = x.std(axis=0)
    times = np.divide(1.0, spread, out=np.zeros(spread.size), where=spread > SAME * np.abs(centre))
    wanted = b[judged].astype(np.float64) - middle
    size = np.square(wanted).sum() / len(judged)
    if size <= (SAME * np.abs(middle).max()) ** 2:
        raise InputError(f"representations of {owner} must differ between examples; one to be predicted is constant.")
    guess = ((a[judged].astype(np.float64) - centre) * times) @ _ridge(x * times, y, ridge)
    if form == "neighbour":
        return _missed(guess, wanted)
    return np.asarray(np.square(wanted - guess).sum(axis=1) / size)


def _ridge(x: Array, y: Array, strength: float | None) -> Array:
    """Coefficients of ridge regression on centred rows; the strength by generalised cross-validation if None."""
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    alive = s > SAME * max(s[0], np.finfo(float).tiny)
    u, s, vt = u[:, alive], s[alive], vt[alive]
    if s.size == 0:
        return np.zeros((x.shape[1], y.shape[1]))
    seen = u.T @ y
    if strength is None:
        strength = _chosen(len(x), s, seen, y)
    return np.asarray(vt.T @ ((s / (s**2 + strength * s[0] ** 2))[:, None] * seen))


def _chosen(n: int, s: Array, seen: Array, y: Array) -> float:
    """The strength with the smallest RSS / (1 - degrees of freedom / n)^2; the mean takes one degree of freedom."""
    power = np.square(seen).sum(axis=1)
    beyond = max(float(np.square(y).sum() - power.sum()), 0.0)
    scores = []
    for strength in STRENGTHS:
        shrunk = s**2 / (s**2 + strength * s[0] ** 2)
        left = max(1.0 - (1.0 + float(shrunk.sum())) / n, np.finfo(float).eps)
        scores.append((float(np.square(1 - shrunk) @ power) + beyond) / left**2)
    return float(STRENGTHS[int(np.argmin(scores))])


def _missed(guess: Array, wanted: Array) -> Array:
    """1 where another row is nearer to the guess than its own; equal rows count as the same."""
    out = np.empty(len(guess))
    squares = np.square(wanted).sum(axis=1)
    for start in range(0, len(guess), CHUNK):
        part = guess[start : start + CHUNK]
        apart = squares - 2 * part @ wanted.T  # without the guess's own length, which does not matter here
        own = apart[np.arange(len(part)), np.arange(start, start + len(part))]
        slack = 1e-9 * (np.abs(own) + squares[start : start + len(part)])
        out[start : start + len(part)] = apart.min(axis=1) < own - slack
    return out
