"""A head on embeddings that never sees the label it predicts: ridge regression, each example left out of its own fit.

With F the features of the rows and Y the targets, the prediction for example i by the fit to all others is

    y_i - (y_i - f_i b) / (1 - h_i),    b = (F'F + c)^-1 F'Y,    h_i = f_i (F'F + c)^-1 f_i',

so one fit gives all of them. The features are the rows themselves, each column in units of its spread, or waves
cos(w x) and sin(w x) of random frequencies w, which make it the head of a Gaussian kernel (Rahimi and Recht 2007).
Which of them, the width of the kernel and the penalty c are those with the smallest error of these predictions: waves
suit tables, and rows of an encoder, which are many and made for a linear head, suit it as they are. Another kind of
model than the networks makes other mistakes; that is its use.

`cleaning_gain` asks the same head whether labels should be left out: if they are wrong, a fit without them predicts
held-out labels, wrong ones among them, better, and if they are right but hard, worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.seeds import drawn_first, stream

__all__ = ["HELD_OUT", "RidgeHead", "cleaning_gain", "ridge_head"]

Floats = NDArray[np.float64]
Features = Callable[[NDArray[np.int64]], Floats]

WAVES = (256, 512)  # random frequencies: at most the second, and the first if there are few examples
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # of frequencies, in units of one over the typical distance of two rows
WIDEST = 2048  # columns up to which the rows themselves are tried
PENALTIES = tuple(10.0**power for power in range(-4, 3))  # in units of the mean eigenvalue
TRIED = 5_000  # examples that features and penalty are chosen with, at most
FITTED = 50_000  # examples that the head is fitted to, at most
BLOCK = 4096
HELD_OUT, PARTS = 20_000, 5  # examples of a held-out trial at most, and its parts


@dataclass(frozen=True, eq=False)
class RidgeHead:
    """The head of the best width and penalty.

    Parameters
    ----------
    predictions
        For each example and target, by the fit to all others.
    features
        Those of the examples at some positions.
    penalty
        In units of the mean eigenvalue.
    """

    predictions: Floats
    features: Features
    penalty: float


def ridge_head(rows: NDArray[np.floating], ids: NDArray[np.generic], targets: Floats) -> RidgeHead:
    """Return the head, with a prediction for every example by a fit to others.

    Parameters
    ----------
    rows
        One row per example.
    ids
        Of the examples; those that features and penalty are chosen with are drawn by id.
    targets
        One row per example, such as 1 for its class and 0 for the others.
    """
    order = drawn_first(0, ("ridge head",), ids)
    tried, fitted = np.sort(order[:TRIED]), np.sort(order[:FITTED])
    candidates = [_waves(rows, fitted, width) for width in WIDTHS]
    if rows.shape[1] <= WIDEST:
        candidates.append(_plain(rows, fitted))
    errors = np.array([_errors(one, tried, targets) for one in candidates])
    at, choice = np.unravel_index(int(errors.argmin()), errors.shape)
    features, penalty = candidates[at], PENALTIES[choice] * tried.size / fitted.size
    return RidgeHead(_left_out(features, fitted, targets, penalty), features, penalty)


def cleaning_gain(
    head: RidgeHead, ids: NDArray[np.generic], targets: Floats, without: NDArray[np.bool_]
) -> tuple[float, float]:
    """How much more often held-out labels are predicted if some are left out of the fit, and its standard error.

    Parameters
    ----------
    head
        Made of the same examples.
    ids
        Of the examples; the parts to hold out are drawn by id.
    targets
        1 for the class of the example, and 0 for the others.
    without
        The labels to leave out. They count among the held-out ones too.
    """
    if (~without).sum() < 2 * PARTS:
        return 0.0, 1.0  # nothing to fit to
    some = drawn_first(0, ("cleaning gain",), ids)[:HELD_OUT]
    part, more = np.arange(some.size) % PARTS, np.zeros(some.size)
    inside = [np.sort(some[part == one]) for one in range(PARTS)]
    every = [_moments(head.features, one, targets) for one in inside]
    gone = [_moments(head.features, one[without[one]], targets) for one in inside]
    for held in range(PARTS):
        rest = _total([every[one] for one in range(PARTS) if one != held])
        less = _total([gone[one] for one in range(PARTS) if one != held])
        fits = [_fit(rest, head.penalty), _fit((rest[0] - less[0], rest[1] - less[1]), head.penalty)]
        for where in _blocks(np.flatnonzero(part == held)):
            features, given = head.features(some[where]), targets[some[where]].argmax(axis=1)
            before, after = ((features @ fit + middle).argmax(axis=1) == given for fit, middle in fits)
            more[where] = after.astype(np.float64) - before
    return float(more.mean()), float(max(np.sqrt(np.square(more).sum()), 1.0) / more.size)


def _total(parts: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    return np.sum([one for one, _ in parts], axis=0), np.sum([one for _, one in parts], axis=0)


def _fit(moments: tuple[Floats, Floats], penalty: float) -> tuple[Floats, Floats]:
    """Weights of the features, and what to add."""
    square, cross, middle = _centred(moments)
    added = _added(np.diag(square), penalty)
    return np.asarray(np.linalg.solve(square + added * np.eye(len(square)), cross), dtype=np.float64), middle


def _waves(rows: NDArray[np.floating], fitted: NDArray[np.int64], width: float) -> Features:
    """Features of the rows at some positions: waves of this width, and 1."""
    known = rows[fitted]
    middle = known.mean(axis=0, dtype=np.float64)
    apart = np.sqrt(2 * max(float(known.var(axis=0, dtype=np.float64).sum()), 1e-24))
    waves = min(WAVES[1], max(len(rows) // 8, min(WAVES[0], 1 + len(rows) // 2)))
    drawn = stream(0, "ridge head", rows.shape[1]).standard_normal((rows.shape[1], waves)) * (width / apart)

    def features(where: NDArray[np.int64]) -> Floats:
        phase = (rows[where] - middle) @ drawn
        return np.concatenate([np.cos(phase), np.sin(phase), np.ones((where.size, 1))], axis=1)

    return features


def _plain(rows: NDArray[np.floating], fitted: NDArray[np.int64]) -> Features:
    """The rows at some positions, each column in units of its spread, and 1."""
    known = rows[fitted]
    middle, spread = known.mean(axis=0, dtype=np.float64), known.std(axis=0, dtype=np.float64)
    units = np.where(spread > 0, spread, 1.0)

    def features(where: NDArray[np.int64]) -> Floats:
        return np.concatenate([(rows[where] - middle) / units, np.ones((where.size, 1))], axis=1)

    return features


def _blocks(where: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, where.size, BLOCK):
        yield where[start : start + BLOCK]


def _moments(features: Features, known: NDArray[np.int64], targets: Floats) -> tuple[Floats, Floats]:
    """F'F and F'Y over some examples."""
    size = features(known[:0]).shape[1]
    square, cross = np.zeros((size, size)), np.zeros((size, targets.shape[1]))
    for block in _blocks(known):
        found = features(block)
        square += found.T @ found
        cross += found.T @ targets[block]
    return square, cross


def _centred(moments: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """F'F / n, F'(Y - mean) / n, and the mean of Y: the last feature is 1, so its sums are those of F and Y."""
    square, cross = moments
    count = square[-1, -1]
    middle = cross[-1] / count
    return square / count, (cross - np.outer(square[:, -1], middle)) / count, middle


def _turned(features: Features, known: NDArray[np.int64], targets: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Eigenvalues and eigenvectors of F'F / n, what the targets have to do with each, and the mean of the targets."""
    square, cross, middle = _centred(_moments(features, known, targets))
    values, vectors = np.linalg.eigh(square)
    return np.maximum(values, 0.0), vectors, vectors.T @ cross, middle


def _errors(features: Features, tried: NDArray[np.int64], targets: Floats) -> list[float]:
    """The mean squared error of the predictions by others, for each penalty."""
    values, vectors, cross, middle = _turned(features, tried, targets)
    total = np.zeros(len(PENALTIES))
    for block in _blocks(tried):
        seen = features(block) @ vectors
        for at, penalty in enumerate(PENALTIES):
            gaps = _gaps(seen, targets[block] - middle, values, cross, penalty, tried.size)
            total[at] += float(np.square(gaps).sum())
    return [float(one) for one in total / (tried.size * targets.shape[1])]


def _left_out(features: Features, fitted: NDArray[np.int64], targets: Floats, penalty: float) -> Floats:
    """Predictions for all examples: by the fit to all others where they are fitted to, by the fit elsewhere."""
    values, vectors, cross, middle = _turned(features, fitted, targets)
    found = np.empty(targets.shape)
    for block in _blocks(fitted):
        gaps = _gaps(features(block) @ vectors, targets[block] - middle, values, cross, penalty, fitted.size)
        found[block] = targets[block] - gaps
    weights = vectors @ (cross / (values + _added(values, penalty))[:, None])
    for block in _blocks(np.setdiff1d(np.arange(len(targets)), fitted)):
        found[block] = features(block) @ weights + middle
    return found


def _gaps(seen: Floats, targets: Floats, values: Floats, cross: Floats, penalty: float, size: int) -> Floats:
    """Target minus prediction by the fit to all others, of examples that are fitted to."""
    shrink = 1 / (values + _added(values, penalty))
    lever = np.square(seen) @ shrink / size
    return np.asarray((targets - seen @ (shrink[:, None] * cross)) / np.maximum(1 - lever, 1e-6)[:, None])


def _added(values: Floats, penalty: float) -> float:
    return penalty * float(values.mean()) + 1e-12
