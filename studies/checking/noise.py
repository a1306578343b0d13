"""Wrong labels that are planted: uniform, by pairs of classes, and like those of people, by a rule or by chance.

Errors like those of people are where a picture really looks like another class.

- By a rule (`human`): a logistic regression is trained on a tenth of the data with the true labels. The label becomes
  its most likely wrong class for those examples where it is surest of that class. The model is always drawn with seed
  0, so these errors are the same for every seed of a study.
- By chance (`drawn`): the probabilities of a model that knows more than the networks under test
  (`annotators.py`) are softened by a temperature until a label drawn from them is wrong as often as asked for. Two such
  annotators make different errors, on the same hard pictures.

Nothing that is judged may use these models.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import winnow as wn
from studies.checking.annotators import annotator

__all__ = ["KINDS", "flipped", "noisy"]

KINDS = ("uniform", "pair", "human", "drawn")
HOTTEST = 1e4
Labels = NDArray[np.int64]
Floats = NDArray[np.float64]


def noisy(
    source: wn.Source, kind: str, rate: float, seed: int = 0, annotation: Callable[[wn.Source], Floats] = annotator
) -> wn.Source:
    """The same source with this share of its labels wrong; `source.labels` are the truth."""
    said = annotation(source) if kind == "drawn" and rate > 0 else None
    given = flipped(source.read(np.arange(len(source))), np.asarray(source.labels), kind, rate, seed, said)
    return replace(source, labels=given, name=f"{source.name} {kind} {rate:g}")


def flipped(
    x: NDArray[np.generic], truth: Labels, kind: str, rate: float, seed: int = 0, annotation: Floats | None = None
) -> Labels:
    """Labels of which a share is wrong.

    Parameters
    ----------
    x
        The examples, one per row.
    truth
        Class numbers, all from 0 to the largest.
    kind
        `uniform`: any other class. `pair`: the next class. `human`: the class that a simple model takes it for, where
        it is surest. `drawn`: a class drawn with the softened probabilities of a strong model.
    rate
        Share of wrong labels.
    seed
        Seed of the draw; `human` ignores it.
    annotation
        Log probability of each class by the strong model; only `drawn` needs it.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
    classes, count = int(truth.max()) + 1, round(rate * truth.size)
    given = truth.copy()
    if count == 0:
        return given
    draw = np.random.default_rng(seed)
    if kind == "drawn":
        assert annotation is not None
        where, other = _annotated(annotation, truth, count, draw)
        given[where] = other
        return given
    if kind == "human":
        chances = _looks_like(x, truth, classes)
        where = np.argsort(-chances.max(axis=1), kind="stable")[:count]
        given[where] = chances[where].argmax(axis=1)
        return given
    where = draw.permutation(truth.size)[:count]
    given[where] = (truth[where] + (draw.integers(1, classes, count) if kind == "uniform" else 1)) % classes
    return given


def _annotated(logs: Floats, truth: Labels, count: int, draw: np.random.Generator) -> tuple[Labels, Labels]:
    """Examples and their wrong classes, as an annotator with these log probabilities, softened, would draw them.

    A label drawn from p is wrong if logit(1 - p(truth)) plus logistic noise is above 0. The temperature, at least 1,
    makes that so as often as asked for, and the largest sums are taken instead of those above 0, so that the number is
    exact.
    """
    rows = np.arange(truth.size)
    low, high = 0.0, np.log(HOTTEST)
    for _ in range(40):  # bisection: the share of wrong labels grows with the temperature
        middle = (low + high) / 2
        if (1 - _softened(logs, np.exp(middle))[rows, truth]).mean() < count / truth.size:
            low = middle
        else:
            high = middle
    chances = _softened(logs, np.exp(low))
    right = np.clip(chances[rows, truth], 1e-12, 1 - 1e-12)
    where = np.argsort(-(np.log1p(-right) - np.log(right) + draw.logistic(size=truth.size)), kind="stable")[:count]
    chances[rows, truth] = 0.0
    reached = np.cumsum(chances[where], axis=1)
    return where, (reached < draw.random((count, 1)) * reached[:, -1:]).sum(axis=1)


def _softened(logs: Floats, temperature: float) -> Floats:
    heated = logs / temperature
    raised = np.exp(heated - heated.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _looks_like(x: NDArray[np.generic], truth: Labels, classes: int) -> NDArray[np.float64]:
    """The probability of each class by a simple model, -1 for the right one."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rows = StandardScaler().fit_transform(x.reshape(truth.size, -1))
    some = np.random.default_rng(0).permutation(truth.size)[: max(truth.size // 10, 5 * classes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 rounds are enough for a model that need not be good
        model = LogisticRegression(max_iter=300).fit(rows[some], truth[some])
    chances = np.zeros((truth.size, classes))
    chances[:, model.classes_] = model.predict_proba(rows)
    chances[np.arange(truth.size), truth] = -1.0
    return chances
