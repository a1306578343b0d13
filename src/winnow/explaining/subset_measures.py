"""The numbers of an audit, beside random subsets: a head's change, moments, coverage and a forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ..artefacts.audit import Measure
from ..core.seeds import drawn_first
from ..methods.influence.fit_head import fitted
from ..methods.moments import moment_error
from .reduced_features import head_features_of

__all__ = ["DIMS", "Compared", "kernel_coverage", "measures_of"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

DAMPING = 0.01
DIMS, MOMENT_DIMS, COVER_DIMS = 64, 8, 32  # principal directions of the head, the moments and the distances
ORDER = 2
COVERED = 0.95
ASKED = 5_000  # most examples whose distances are measured
NUMBERS = 1 << 22  # distances computed at a time


@dataclass(frozen=True, eq=False)
class Compared:
    """The subset and the data it is compared on.

    Parameters
    ----------
    points
        Embeddings along their principal directions, at most `DIMS`, one row per example in the order of the ids.
    labels, task, classes
        Of the source; None if it has no labels.
    kept, weights
        Positions of the subset and their weights.
    ids, seed, draws
        Random subsets are drawn by id.
    other, truth
        Embeddings and labels of test data, if there are any.
    """

    points: Floats
    labels: NDArray[Any] | None
    task: str
    classes: int
    kept: Positions
    weights: Floats
    ids: NDArray[Any]
    seed: int
    draws: int
    other: Floats | None = None
    truth: NDArray[Any] | None = None

    def random(self) -> Iterator[Positions]:
        """Random subsets of the same size."""
        for number in range(self.draws):
            yield np.sort(drawn_first(self.seed, ("audit", number), self.ids)[: self.kept.size])

    def measured(self, name: str, about: str, of: Callable[[Positions, Floats], float], **more: Any) -> Measure:
        """A measure of the subset and of random subsets."""
        value = of(self.kept, self.weights)
        if not self.draws or self.kept.size == len(self.points):
            return Measure(name, about, value, **more)
        found = tuple(of(where, np.ones(where.size)) for where in self.random())
        return Measure(name, about, value, found, **more)


def measures_of(compared: Compared) -> list[Measure]:
    """All measures that the data allow."""
    out = []
    if compared.labels is not None and compared.task in ("classification", "regression"):
        out += _head_measures(compared)
    few, near = compared.points[:, :MOMENT_DIMS], compared.points[:, :COVER_DIMS]
    if few.shape[1]:

        def moments(where: Positions, weights: Floats) -> float:
            return moment_error(few, where, weights * (len(few) / weights.sum()), ORDER)

        about = f"largest relative error of a moment up to order {ORDER} in {few.shape[1]} principal directions"
        out.append(compared.measured("moment error", about, moments))
        asked = near[np.sort(drawn_first(compared.seed, "audit distances", compared.ids, ASKED))]
        unit = float(np.sqrt(np.square(near).sum(axis=1).mean()))
        found: dict[bytes, Floats] = {}

        def far(where: Positions) -> Floats:
            key = where.tobytes()
            if key not in found:
                found[key] = _nearest(asked, near[where]) / unit
            return found[key]

        about = "mean distance of an example to its nearest kept one, in units of the spread of the data"
        out.append(compared.measured("distance", about, lambda where, w: float(far(where).mean())))
        about = f"the same for the example at {COVERED:.0%} of the distances: how far the worst covered are"
        out.append(compared.measured("far distance", about, lambda where, w: float(np.quantile(far(where), COVERED))))
    return out


def kernel_coverage(compared: Compared, rows: Floats, where: Positions) -> Measure:
    """How well a kept example of the same class stands for each example, by lpNTK features of some examples.

    Parameters
    ----------
    compared
        The subset; only those of its examples that are among `where` count.
    rows, where
        Features of some examples, and their positions in increasing order.
    """
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    likeness = unit @ unit.T
    labels = np.asarray(compared.labels)[where]
    likeness[labels[:, None] != labels] = -1.0

    def cover(kept: Positions, weights: Floats) -> float:
        held = np.isin(where, kept)
        return float(likeness[:, held].max(axis=1).mean()) if held.any() else -1.0

    about = f"mean of the largest lpNTK cosine with a kept example of the same class, over {where.size:,} examples"
    return compared.measured("kernel coverage", about, cover, higher=True)


def _head_measures(compared: Compared) -> list[Measure]:
    """A head trained on the subset, beside the head of all."""
    rows, others = head_features_of(compared.points, compared.other)
    n = len(rows)
    if compared.task == "classification":
        labels: NDArray[Any] = np.asarray(compared.labels).astype(np.int64)
        loss, outputs = "softmax", max(2, compared.classes)
    else:
        labels = np.asarray(compared.labels, dtype=np.float64).reshape(n, -1)
        labels = (labels - labels.mean(axis=0)) / np.where(labels.std(axis=0) > 0, labels.std(axis=0), 1.0)
        loss, outputs = "squared", labels.shape[1]
    start = np.zeros((rows.shape[1], outputs))
    whole = fitted(rows, labels, DAMPING, loss, start).theta
    heads: dict[tuple[bytes, bytes], Floats] = {}

    def head(where: Positions, weights: Floats) -> Floats:
        key = where.tobytes(), weights.tobytes()
        if key not in heads:
            heads[key] = fitted(rows[where], labels[where], DAMPING, loss, whole, weights).theta
        return heads[key]

    def cost(theta: Floats) -> float:
        z = rows @ theta
        if loss == "squared":
            return float(np.square(z - labels).sum(axis=1).mean() / 2)
        return float(-log_softmax(z, axis=1)[np.arange(n), labels].mean())

    size, base = float(np.linalg.norm(whole)) or 1.0, cost(whole)
    found = [
        compared.measured(
            "head change",
            "how far a head trained on the subset is from the head trained on all, relative to its length",
            lambda where, w: float(np.linalg.norm(head(where, w) - whole)) / size,
        ),
        compared.measured(
            "head loss",
            "mean loss over all examples that this change costs",
            lambda where, w: cost(head(where, w)) - base,
        ),
    ]
    if loss == "softmax" and (others is not None or compared.kept.size < n):
        found.append(_forecast(compared, rows, others, labels, whole, head))
    return found


def _forecast(
    compared: Compared,
    rows: Floats,
    others: Floats | None,
    labels: NDArray[Any],
    whole: Floats,
    head: Callable[[Positions, Floats], Floats],
) -> Measure:
    """Accuracy of the head on test data, or on the examples that are not in the subset."""
    if others is not None and compared.truth is not None:
        truth = np.asarray(compared.truth)

        def right(theta: Floats) -> float:
            return float(((others @ theta).argmax(axis=1) == truth).mean())

        about = "accuracy on the test data of a head trained on the subset"
        return compared.measured(
            "forecast", about, lambda where, w: right(head(where, w)), higher=True, whole=right(whole)
        )

    def left_out(where: Positions, weights: Floats) -> float:
        rest = np.delete(np.arange(len(rows)), where)
        said = (rows[rest] @ head(where, weights)).argmax(axis=1)
        return float((said == labels[rest]).mean())

    about = "accuracy on the examples left out of a head trained on the subset"
    return compared.measured("forecast", about, left_out, higher=True)


def _nearest(asked: Floats, kept: Floats) -> Floats:
    """The distance of each asked row to the nearest kept one."""
    lengths, out = np.square(kept).sum(axis=1), np.empty(len(asked))
    step = max(1, NUMBERS // len(kept))
    for start in range(0, len(asked), step):
        some = asked[start : start + step]
        squares = np.square(some).sum(axis=1)[:, None] + lengths - 2.0 * (some @ kept.T)
        out[start : start + step] = np.sqrt(np.maximum(squares.min(axis=1), 0.0))
    return out
