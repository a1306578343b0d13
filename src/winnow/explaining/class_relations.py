"""What a kernel reveals about a whole data set: how its classes relate, its label issues, and partners of examples.

The kernel is processed by class and by block; no n x n array is made. Pairs are counted among at most `COUNTED`
examples, sampled by class. The mean cosine of two classes needs no pairs: it is the product of the classes' mean
directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Signals, Source, Subset, record
from ..artefacts.explanation import ClassPair, DatasetExplanation, Partner, Standing
from ..artefacts.gallery import Gallery
from ..core.seeds import stream
from ..methods.lpntk import FeatureRows, relations
from ..methods.lpntk.kernel_rows import opened, spans
from ..methods.lpntk.signal import joined_seeds
from .doubted_labels import UNRELATED, DoubtedLabels

__all__ = [
    "COUNTED",
    "JUDGED",
    "THRESHOLD",
    "Examples",
    "drawn_by_class",
    "relate",
    "relate_run",
]

JUDGED = 20_000  # most examples that are related to each other
COUNTED = 8192  # most examples whose pairs are counted
THRESHOLD = 0.75  # of `relations`
LISTED = 5000  # most class pairs that are stored; all for up to 100 classes
IN_A_RUN = 12  # most label issues shown in a run's report
PARTNERS = 3  # of each of them

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examples:
    """A kernel with the labels, ids and class names of its examples."""

    kernel: NDArray[Any] | FeatureRows
    labels: Positions
    ids: NDArray[Any]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.labels.size)

    def id(self, i: int | np.integer[Any]) -> Any:
        """The id at a position, as a plain value."""
        found = self.ids[i]
        return found.item() if isinstance(found, np.generic) else found

    def label(self, i: int | np.integer[Any]) -> str:
        """The name of the class at a position."""
        return self.classes[int(self.labels[i])]


def relate(
    among: Examples,
    about: Mapping[str, Any],
    *,
    k: int,
    errors: int,
    seed: int,
    doubts: DoubtedLabels | None = None,
    shown: Positions | None = None,
    kept: NDArray[np.bool_] | None = None,
) -> DatasetExplanation:
    """How the classes relate, the label issues, and the partners of the examples to show.

    Parameters
    ----------
    among
        The examples, of at least two classes.
    about
        Source, model, number of examples, exactness and provenance, which are passed on.
    k, errors
        The most partners and the most label issues to list.
    seed
        Seed for sampling the examples whose pairs are counted.
    doubts
        Which of their labels look wrong; if not given, labels are not judged.
    shown
        Positions of more examples to show.
    kept
        Which examples were kept, if some were removed; each removed one gets a stand-in.
    """
    counted = drawn_by_class(among.labels, COUNTED, seed)
    part = among.kernel
    if counted.size < len(among):
        part = FeatureRows(part.values[counted]) if isinstance(part, FeatureRows) else part[np.ix_(counted, counted)]
    found = relations(part, among.labels[counted], THRESHOLD)
    wrong = np.zeros(0, dtype=np.int64) if doubts is None else doubts.wrong
    where = np.union1d(wrong[:errors], np.zeros(0, dtype=np.int64) if shown is None else shown)
    listed = (found.between("interchangeable"), found.between("contradictory"))
    return DatasetExplanation(
        **about,
        judged=len(among),
        compared=int(counted.size),
        classes=among.classes,
        pairs=found.pairs,
        interchangeable=found.total["interchangeable"],
        contradictory=found.total["contradictory"],
        threshold=THRESHOLD,
        relations=_class_pairs(among, among.labels[counted], listed),
        wrong=None if doubts is None else int(wrong.size),
        errors=() if doubts is None else tuple(doubts.error(among, int(i)) for i in wrong[:errors]),
        standings=tuple(_standings(among, where, k, kept)),
    )


def relate_run(source: Source, signals: Signals, subset: Subset, gallery: Gallery, seed: int) -> DatasetExplanation:
    """The same from the lpNTK features of a run, for its report.

    Parameters
    ----------
    source, signals, subset, gallery
        Those of the run; the gallery's examples are shown.
    seed
        Seed for sampling the examples to judge, if there are more than `JUDGED`.
    """
    ids, order = signals.ids, np.argsort(signals.ids, kind="stable")
    names = {item.id for items in gallery.sections.values() for item in items}
    wanted = np.isin(ids[order].astype(str), sorted(names))
    labels = np.asarray(signals.labels, dtype=np.int64)[order]
    looked = np.union1d(drawn_by_class(labels, JUDGED, seed), np.flatnonzero(wanted))
    where = order[looked]
    rows = joined_seeds(signals.array("lpntk")[:, where])
    among = Examples(FeatureRows(rows), labels[looked], ids[where], signals.classes or source.classes)
    about = {
        "source": source.name,
        "model": "the network",
        "examples": len(signals),
        "exact": False,
        "provenance": record("relations", {"seed": seed}, {"signals": signals.provenance}),
    }
    return relate(
        among,
        about,
        k=PARTNERS,
        errors=IN_A_RUN,
        seed=seed,
        doubts=DoubtedLabels.of(signals, among.ids),
        shown=np.flatnonzero(wanted[looked]),
        kept=np.isin(among.ids, subset.ids),
    )


def drawn_by_class(labels: Positions, count: int, seed: int) -> Positions:
    """Positions of a stratified sample, in order; all if there are no more than `count`."""
    if labels.size <= count:
        return np.arange(labels.size)
    shuffled = stream(seed, "relating").permutation(labels.size)
    turn = np.empty(labels.size)
    for number in np.unique(labels):
        members = shuffled[labels[shuffled] == number]
        turn[members] = (np.arange(members.size) + 0.5) / members.size
    return np.sort(np.lexsort((labels, turn))[:count])


def _class_pairs(among: Examples, counted: Positions, kinds: tuple[Positions, Positions]) -> tuple[ClassPair, ...]:
    """Each class with itself, then the pairs of classes, strongest first."""
    present = np.unique(counted)
    sizes = np.bincount(counted)[present]
    cosines = _mean_cosines(among, present)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1) // 2)
    one, other = np.triu_indices(present.size, 1)
    share = (kinds[0] + kinds[1])[one, other] / np.maximum(pairs[one, other], 1)
    order = np.lexsort((-np.abs(cosines[one, other]), -share))[:LISTED]
    own = np.arange(present.size)
    return tuple(
        ClassPair(
            among.classes[present[a]],
            among.classes[present[b]],
            int(pairs[a, b]),
            int(kinds[0][a, b]),
            int(kinds[1][a, b]),
            float(cosines[a, b]),
        )
        for a, b in zip(np.concatenate([own, one[order]]), np.concatenate([own, other[order]]), strict=True)
    )


def _mean_cosines(among: Examples, present: Positions) -> NDArray[np.float64]:
    """Mean cosine of the pairs of every two classes; 1 for a class of one example with itself."""
    kernel = opened("explain", among.kernel)
    member = (among.labels[:, None] == present).astype(np.float64)
    lengths = np.sqrt(kernel.diagonal)
    if isinstance(among.kernel, FeatureRows):
        directions = (member / lengths[:, None]).T.astype(kernel.dtype) @ among.kernel.values
        sums = directions.astype(np.float64) @ directions.T.astype(np.float64)
    else:
        sums = np.zeros((present.size, present.size))
        for rows in spans(kernel, kernel.n):
            sums += (member[rows] / lengths[rows, None]).T @ (
                kernel.block(rows, slice(None)) @ (member / lengths[:, None])
            )
    sizes = member.sum(axis=0)
    pairs = np.outer(sizes, sizes)
    own = np.arange(present.size)
    sums[own, own] -= sizes
    pairs[own, own] -= sizes
    return np.asarray(np.divide(sums, pairs, out=np.ones_like(sums), where=pairs > 0))


def _standings(among: Examples, positions: Positions, k: int, kept: NDArray[np.bool_] | None) -> list[Standing]:
    """Partners of some examples, ranked as in `neighbours`; those near zero are in neither list."""
    kernel = opened("explain", among.kernel)
    found = []
    for i in positions:
        row = np.array(kernel.block(np.array([i]), slice(None))[0], dtype=np.float64)
        stand_in = None
        weaker = row / np.maximum(kernel.diagonal, kernel.diagonal[i])
        cosine = row / np.sqrt(kernel.diagonal) / np.sqrt(kernel.diagonal[i])
        weaker[i] = 0.0  # neither positive nor negative: in neither list
        if kept is not None and not kept[i]:
            able = np.flatnonzero(kept & (among.labels == among.labels[i]))
            stand_in = _partner(among, able[cosine[able].argmax()], cosine, weaker) if able.size else None
        lists = []
        for sign in (1.0, -1.0):
            able = np.flatnonzero(sign * weaker > UNRELATED)
            top = able[np.argsort(-sign * weaker[able], kind="stable")[:k]]
            lists.append(tuple(_partner(among, j, cosine, weaker) for j in top))
        counts = int((weaker >= THRESHOLD).sum()), int((weaker <= -THRESHOLD).sum())
        found.append(Standing(among.id(i), among.label(i), lists[0], lists[1], *counts, stand_in))
    return found


def _partner(among: Examples, j: np.integer[Any], cosine: NDArray[np.float64], weaker: NDArray[np.float64]) -> Partner:
    return Partner(among.id(j), among.label(j), float(cosine[j]), float(weaker[j]))
