"""Columns that mislead: they give the label away, number the rows, hold one value, or differ between train and test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Source
from ..artefacts.finding import Finding
from ..artefacts.raw_rows import RawRows
from ..core.progress import track
from ..core.seeds import drawn_first, number, uniforms

__all__ = ["columns", "drift"]

ROWS = 20_000  # rows that predictors are fitted on, drawn by id
FOLDS = 3
TELLS = 0.95  # share of what can be known about the label that a telling column gives
TIMES = 4.0  # how much more the other columns leave open, in the middle
LEAF = 5  # rows per leaf at least
LEAVES = 64
LEVEL = 0.01  # of all drift tests of one data set together
EFFECT = 0.1  # the least difference of two distribution functions that matters
FEWEST = 30
TELLING, IDENTITY, CONSTANT, MISSING = range(4)  # what is found of columns, the most serious first
NUMBERED = "numbers the rows: whole numbers, each once and without gaps"


def columns(source: Source, *, seed: int = 0) -> list[Finding]:
    """Find columns of a table that give the label away, number the rows, or hold one value throughout.

    A tree on one column predicts the labels of rows that it has not seen. What it gets right beyond the most common
    class, as a share of what is left (in regression R2), is what the column gives. A column that gives nearly all
    while the others do not is likely made from the label, or known only after it.

    Parameters
    ----------
    source
        A table; other kinds of data have no findings here.
    seed
        Seed of the folds.

    Returns
    -------
    list
        Findings of kind `column`, the most serious first: what gives the label away, what tells rows apart, what holds
        one value, missing values.
    """
    if source.kind != "table" or len(source) < FEWEST:
        return []
    names = source.columns or tuple(f"x{place}" for place in range(source.shape[0]))
    rows = source.read(np.arange(len(source)))
    found = [] if source.raw is None else list(_raw_columns(source.raw))
    for place, name in enumerate(names if source.raw is None else ()):
        column = rows[:, place]
        if np.ptp(column) == 0:
            found.append((CONSTANT, _column(name, 1.0, f"every row has the value {column[0]:g}")))
        elif _numbers_rows(column):
            found.append((IDENTITY, _column(name, 0.95, NUMBERED)))
    if source.labels is not None:
        # the numbers that one raw column was encoded as are judged together
        parts = names if source.raw is None else source.raw.parts
        places = {name: [k for k, part in enumerate(parts) if part == name] for name in dict.fromkeys(parts)}
        found += [(TELLING, one) for one in _telling(source, rows, places, seed)]
    return [one for _, one in sorted(found, key=lambda one: (one[0], -one[1].probability))]


def _raw_columns(raw: RawRows) -> Iterator[tuple[int, Finding]]:
    """Columns with missing values, with one value throughout, or with a different one in every row."""
    quantities = raw.quantities()
    codes = raw.codes()
    for name, gone in raw.missing().items():
        if gone.any():
            yield (
                MISSING,
                _column(name, 1.0, f"{int(gone.sum())} of {gone.size} values are missing ({gone.mean():.1%})"),
            )
        kinds = np.unique(codes[name][~gone]).size
        if kinds == 1:
            yield CONSTANT, _column(name, 1.0, "every row that has a value has the same")
        elif name in quantities and not gone.any() and _numbers_rows(quantities[name]):
            yield IDENTITY, _column(name, 0.95, NUMBERED)
        elif name not in quantities and kinds == gone.size:
            words = "a different value in every row: an id, or text; a model may learn rows by heart"
            yield IDENTITY, _column(name, 0.9, words)


def drift(
    source: Source,
    test: Source,
    embeddings: ArrayLike | None = None,
    test_embeddings: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> list[Finding]:
    """Find differences between training and test data: per column, in the classes, and in the embeddings.

    Columns: the test of Kolmogorov and Smirnov, corrected for the number of columns, and a difference of at least a
    tenth; strings with many different values are left out, since new ones are usual there.
    Embeddings: whether a linear classifier tells the two apart on examples that it has not seen.

    Parameters
    ----------
    source, test
        Training and test examples.
    embeddings, test_embeddings
        One row per example of each, or neither.
    seed
        Seed of the folds.

    Returns
    -------
    list
        Findings of kind `drift`, the surest first.
    """
    found = list(_class_drift(source, test))
    test = test.as_in(source)
    if source.kind == "table" and test.kind == "table" and source.shape == test.shape:
        mine, theirs = (one.read(np.arange(len(one))) for one in (source, test))
        names = source.columns or tuple(f"x{place}" for place in range(source.shape[0]))
        for place, name in enumerate(names):
            if source.raw is not None and source.raw.kind(source.raw.parts[place]) == "string":
                continue
            apart = _apart(mine[:, place], theirs[:, place])
            chance = min(1.0, _kolmogorov(apart, len(mine), len(theirs)) * len(names))
            if chance < LEVEL and apart >= EFFECT:
                middle = [float(np.median(values[:, place])) for values in (mine, theirs)]
                words = (
                    f"median {middle[0]:.4g} in training, {middle[1]:.4g} in test; distributions differ by {apart:.2f}"
                )
                found.append(Finding("drift", 1 - chance, words, subject=name))
    if embeddings is not None and test_embeddings is not None:
        found += _told_apart(source, test, np.asanyarray(embeddings), np.asanyarray(test_embeddings), seed)
    return sorted(found, key=lambda one: -one.probability)


def _column(name: str, sure: float, why: str) -> Finding:
    return Finding("column", sure, why, subject=name)


def _numbers_rows(column: NDArray[Any]) -> bool:
    """Whether a column holds consecutive whole numbers, each once."""
    low, high = float(column.min()), float(column.max())
    if high - low + 1 != column.size or (column != np.round(column)).any():
        return False
    return bool(np.unique(column).size == column.size)


def _telling(source: Source, rows: NDArray[Any], places: Mapping[str, Sequence[int]], seed: int) -> Iterator[Finding]:
    target = np.asarray(source.labels)
    if target.ndim > 1 or np.ptp(target) == 0:
        return
    chosen = np.sort(drawn_first(seed, ("columns", "rows"), source.ids, ROWS))
    chosen = chosen[np.argsort(source.ids[chosen], kind="stable")]
    fold = (uniforms(seed, ("columns", "folds"), source.ids[chosen]) * FOLDS).astype(np.int64)
    classes = source.task == "classification"
    names = list(places)
    few = rows[chosen]
    gives = np.array([_skill(few[:, places[name]], target[chosen], fold, classes) for name in track(names, "columns")])
    for place in np.flatnonzero(gives >= TELLS).tolist():
        others = float(np.median(np.delete(gives, place))) if len(names) > 1 else 0.0
        if 1 - others >= TIMES * (1 - gives[place]):
            sure = min(0.99, 0.6 + 0.4 * (gives[place] - TELLS) / (1 - TELLS))
            words = f"this column alone gives {gives[place]:.1%} of the label; the others {others:.0%} in the middle"
            yield _column(names[place], float(sure), words)


def _skill(x: NDArray[Any], target: NDArray[Any], fold: NDArray[np.int64], classes: bool) -> float:
    """What a tree on one column gets right on unseen rows, as a share of what a constant leaves."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    make = DecisionTreeClassifier if classes else DecisionTreeRegressor
    said = np.empty(len(target))
    constant = np.empty(len(target))
    for part in range(FOLDS):
        out = fold == part
        if out.all() or not out.any():
            return 0.0
        most = max(LEAVES, 2 * np.unique(target[~out]).size) if classes else LEAVES
        tree = make(min_samples_leaf=LEAF, max_leaf_nodes=most, random_state=0).fit(x[~out], target[~out])
        said[out] = tree.predict(x[out])
        constant[out] = np.bincount(target[~out]).argmax() if classes else target[~out].mean()
    if classes:
        left = float((constant != target).mean())
        return 1 - float((said != target).mean()) / left if left else 0.0
    left = float(np.square(constant - target).mean())
    return 1 - float(np.square(said - target).mean()) / left if left else 0.0


def _apart(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The largest difference of two empirical distribution functions."""
    a, b = np.sort(a), np.sort(b)
    every = np.concatenate([a, b])
    return float(
        np.abs(np.searchsorted(a, every, "right") / a.size - np.searchsorted(b, every, "right") / b.size).max()
    )


def _kolmogorov(apart: float, n: int, m: int) -> float:
    """The probability of such a difference by chance; an upper bound for columns with ties."""
    root = math.sqrt(n * m / (n + m))
    z = (root + 0.12 + 0.11 / root) * apart
    return min(1.0, 2 * math.exp(-2 * z * z))


def _class_drift(source: Source, test: Source) -> Iterator[Finding]:
    """Classes whose share differs between training and test data."""
    if source.task != "classification" or test.task != "classification":
        return
    shares = []
    for one in (source, test):
        counts = np.bincount(np.asarray(one.labels), minlength=len(one.classes))
        shares.append(dict(zip(one.classes, counts / len(one), strict=True)))
    for name in source.classes:
        here, there = shares[0][name], shares[1].get(name, 0.0)
        pooled = (here * len(source) + there * len(test)) / (len(source) + len(test))
        noise = math.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / len(source) + 1 / len(test)))
        chance = min(1.0, math.erfc(abs(here - there) / noise / math.sqrt(2)) * len(source.classes))
        # a share that differs by a fifth, and by a tenth of the data or of the usual share of a class
        large = abs(here - there) >= max(0.2 * max(here, there), min(EFFECT, 0.5 / len(source.classes)))
        if chance < LEVEL and large:
            words = f"{here:.1%} of the training data, {there:.1%} of the test data"
            yield Finding("drift", 1 - chance, words, subject=name)


def _told_apart(source: Source, test: Source, mine: NDArray[Any], theirs: NDArray[Any], seed: int) -> Iterator[Finding]:
    """Whether a linear classifier tells training from test embeddings."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    size = min(ROWS // 4, len(source), len(test))
    if size < FEWEST:
        return
    parts, fold = [], []
    for one, rows, side in ((source, mine, "train"), (test, theirs, "test")):
        chosen = drawn_first(seed, ("drift", side), one.ids, size)
        parts.append(np.asarray(rows[np.sort(chosen)], dtype=np.float64))
        fold.append((uniforms(seed, ("drift", side, "folds"), one.ids[np.sort(chosen)]) * FOLDS).astype(np.int64))
    x, place = np.concatenate(parts), np.concatenate(fold)
    y = np.repeat([0, 1], size)
    said = np.empty(y.size)
    for part in range(FOLDS):
        out = place == part
        model = make_pipeline(
            StandardScaler(), LogisticRegression(C=0.01, max_iter=300, random_state=number(seed, "drift") % 2**31)
        )
        said[out] = model.fit(x[~out], y[~out]).predict_proba(x[out])[:, 1]
    area = float(np.mean([roc_auc_score(y[place == part], said[place == part]) for part in range(FOLDS)]))
    noise = math.sqrt((2 * size + 1) / (12 * size * size))  # of the area if there is no difference
    chance = math.erfc((area - 0.5) / noise / math.sqrt(2)) / 2
    if chance < LEVEL and area >= 0.5 + EFFECT / 2:
        words = (
            f"a linear classifier tells training from test examples: area under the curve {area:.2f} instead of 0.50"
        )
        yield Finding("drift", 1 - chance, words, subject="embeddings")
