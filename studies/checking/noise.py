"""Wrong labels that are planted: uniform, by pairs of classes, and like those of people, by a rule or by chance.

Errors like those of people are where a picture really looks like another class. They are made by a logistic regression
that was trained on a tenth of the data with the true labels. By the rule (`human`), the label becomes its most likely
wrong class for those examples where it is surest of that class. The model is always drawn with seed 0, so these errors
are the same for every seed of a study. By chance (`soft`), an example is drawn in proportion to the probability of all
wrong classes, and its label in proportion to that of each: two annotators then make different errors on the same
pictures. Nothing that is judged may use this model.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import winnow as wn

__all__ = ["KINDS", "flipped", "noisy"]

KINDS = ("uniform", "pair", "human", "soft")
FLATTER = 0.5  # power of the probabilities in `soft`: a model of many columns is far too sure of itself
Labels = NDArray[np.int64]


def noisy(source: wn.Source, kind: str, rate: float, seed: int = 0) -> wn.Source:
    """The same source with this share of its labels wrong; `source.labels` are the truth."""
    given = flipped(source.read(np.arange(len(source))), np.asarray(source.labels), kind, rate, seed)
    return replace(source, labels=given, name=f"{source.name} {kind} {rate:g}")


def flipped(x: NDArray[np.generic], truth: Labels, kind: str, rate: float, seed: int = 0) -> Labels:
    """Labels of which a share is wrong.

    Parameters
    ----------
    x
        The examples, one per row.
    truth
        Class numbers, all from 0 to the largest.
    kind
        `uniform`: any other class. `pair`: the next class. `human`: the class that a simple model takes it for, where
        it is surest; `soft`: a class drawn with the probabilities of that model.
    rate
        Share of wrong labels.
    seed
        Seed of the draw; `human` ignores it.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
    classes, count = int(truth.max()) + 1, round(rate * truth.size)
    given = truth.copy()
    if count == 0:
        return given
    draw = np.random.default_rng(seed)
    if kind in ("human", "soft"):
        chances = _looks_like(x, truth, classes)
        if kind == "human":
            where = np.argsort(-chances.max(axis=1), kind="stable")[:count]
            given[where] = chances[where].argmax(axis=1)
        else:
            where, other = _drawn(chances, truth, count, draw)
            given[where] = other
        return given
    where = draw.permutation(truth.size)[:count]
    given[where] = (truth[where] + (draw.integers(1, classes, count) if kind == "uniform" else 1)) % classes
    return given


def _drawn(chances: NDArray[np.float64], truth: Labels, count: int, draw: np.random.Generator) -> tuple[Labels, Labels]:
    """Examples and their wrong classes, drawn in proportion to the flattened probabilities without replacement."""
    weights = np.maximum(chances, 1e-12) ** FLATTER
    weights[np.arange(truth.size), truth] = 0.0
    keys = np.log(weights.sum(axis=1)) + draw.gumbel(size=truth.size)
    where = np.argsort(-keys, kind="stable")[:count]
    reached = np.cumsum(weights[where], axis=1)
    return where, (reached < draw.random((count, 1)) * reached[:, -1:]).sum(axis=1)


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
