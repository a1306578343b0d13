"""Duplicates: examples with the same content, and those that are nearly the same, in groups with a representative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Source
from ..artefacts.finding import Finding
from ..artefacts.frozen_arrays import order_of
from ..artefacts.label_sets import label_words
from ..core.scratch_rows import let_go, rows_at, scratch_rows
from ..sources.content import content_keys
from .near_pairs import NearPairs, checks_rows, near_pairs
from .table_match import READ, comparable, repeat_probability

__all__ = ["DuplicateGroups", "closeness", "duplicates", "given_label"]

REPEATED = 0.5  # the least probability that equal rows of a table are copies and not chance


@dataclass(frozen=True, eq=False)
class DuplicateGroups:
    """Which examples are copies of each other.

    Parameters
    ----------
    ids
        Ids of all examples.
    group
        The number of each one's group: the rank of the group's first id. An example alone has a number of its own.
    representative
        The position of the most central example of each one's group; ties are decided by id.
    probability
        That each example is a copy of its representative, or for that one, of another in its group; 0 if it is alone.
    exact
        Whether its content is the same as that of the representative.
    near
        The pairs that are nearly the same, and how far apart they are; positions of the examples.
    """

    ids: NDArray[Any]
    group: NDArray[np.int64]
    representative: NDArray[np.int64]
    probability: NDArray[np.float64]
    exact: NDArray[np.bool_]
    near: NearPairs

    def __len__(self) -> int:
        """Number of groups with more than one example."""
        return sum(1 for _ in self.groups())

    def groups(self) -> Iterator[NDArray[np.int64]]:
        """Positions of each group with more than one example, the representative first, then by id."""
        order = np.lexsort((self.ids, np.arange(self.ids.size) != self.representative, self.group))
        counts = np.unique(self.group, return_counts=True)[1]
        for members in np.split(order, np.cumsum(counts)[:-1]):
            if members.size > 1:
                yield members

    def conflicts(self, source: Source) -> list[NDArray[np.int64]]:
        """Groups whose examples have different classes: at least one label of each is wrong or ambiguous."""
        if source.task != "classification" or source.labels is None:
            return []
        return [members for members in self.groups() if np.ptp(source.labels[members])]

    def findings(self, source: Source) -> list[Finding]:
        """One finding per example of a group; all but the representative are flagged."""
        apart = {tuple(pair): far for pair, far in zip(self.near.pairs.tolist(), self.near.apart.tolist(), strict=True)}
        out = []
        for members in self.groups():
            first = int(members[0])
            labels = [given_label(source, int(one)) for one in members]
            differ = f"; labels in this group differ: {', '.join(sorted(set(labels)))}" if self._differ(labels) else ""
            for place, one in enumerate(members.tolist()):
                if place == 0:
                    words = f"stands for {members.size} examples that are copies of each other"
                elif self.exact[one]:
                    words = f"the same content as {self.ids[first]}"
                else:
                    far = apart.get((min(one, first), max(one, first)))
                    words = closeness(self.near.measure, far, str(self.ids[first]))
                out.append(
                    Finding(
                        kind="duplicate",
                        probability=float(self.probability[one]),
                        evidence=words + differ,
                        id=self.ids[one].item(),
                        label=labels[place],
                        group=int(self.group[one]),
                        other=str(self.ids[first]) if place else "",
                        flagged=place > 0,
                    )
                )
        return out

    @staticmethod
    def _differ(labels: list[str]) -> bool:
        return len(set(labels)) > 1


def duplicates(source: Source, embeddings: ArrayLike | None = None, *, seed: int = 0) -> DuplicateGroups:
    """Find examples with the same content and examples that are nearly the same.

    Parameters
    ----------
    source
        The examples, with or without labels; labels play no part.
    embeddings
        One row per example, in the order of the source; see `near_pairs`.
    seed
        Seed of the search in large sets.

    Returns
    -------
    DuplicateGroups
        A group number per example.

    Examples
    --------
    >>> import winnow as wn
    >>> x = wn.open("digits", limit=200).read(__import__("numpy").arange(200))
    >>> found = duplicates(wn.open((x[[*range(200), 7]], [0, 1] * 100 + [0])))
    >>> [members.size for members in found.groups()]
    [2]
    """
    n = len(source)
    given = None if embeddings is None else checks_rows(embeddings, n)
    again, first = _repeats(source)
    sure_copies = np.ones(again.size)
    if source.kind == "table" and again.size:
        sure_copies = repeat_probability(comparable(source))[again]
    copies, sure_copies = sure_copies >= REPEATED, sure_copies[sure_copies >= REPEATED]
    near = _near(source, given, again, seed)
    edges = np.concatenate([near.pairs, np.stack([again[copies], first[copies]], axis=1)])
    original = np.arange(n)
    original[again] = first
    return _grouped(source, edges, np.concatenate([near.probabilities, sure_copies]), original, near)


def _near(source: Source, given: NDArray[Any] | None, again: NDArray[np.int64], seed: int) -> NearPairs:
    """The pairs that are nearly the same, without examples whose content another one has too."""
    alone = np.ones(len(source), dtype=bool)
    alone[again] = False
    single = np.flatnonzero(alone)
    part = source if single.size == len(source) else source.with_labels(None, "unlabelled").at(single)
    needed = None if given is None or source.kind == "table" else _rows_at(given, single)
    found = near_pairs(part, needed, seed=seed)
    return NearPairs(single[found.pairs], found.probabilities, found.apart, found.measure, found.recall)


def _repeats(source: Source) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of examples whose content another one has too, and of the one with the first id among these."""
    order, keys = order_of(source.ids), content_keys(source)
    if order is None:
        order = np.argsort(keys, kind="stable")
    else:
        order = order[np.argsort(keys[order], kind="stable")]
    keys = keys[order]
    again = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    first = np.maximum.accumulate(np.where(np.diff(again, prepend=-1) > 1, again - 1, 0))
    order, first = order[again], order[first]
    by_place = np.argsort(order)
    return order[by_place], first[by_place]


def _rows_at(table: NDArray[Any], where: NDArray[np.int64]) -> NDArray[Any]:
    """Some rows of embeddings, in a file if they are many; all of them are not copied."""
    if where.size == len(table):
        return table
    rows = scratch_rows((where.size, table.shape[1]), table.dtype)
    for start in range(0, where.size, READ):
        rows[start : start + READ] = rows_at(table, where[start : start + READ])
        let_go(rows)
    return rows


def _grouped(
    source: Source, edges: NDArray[np.int64], sure: NDArray[np.float64], original: NDArray[np.int64], near: NearPairs
) -> DuplicateGroups:
    n = len(source)
    number, order = np.arange(n), order_of(source.ids)
    if order is not None:
        number[order] = np.arange(n)
    representative, probability = np.arange(n), np.zeros(n)
    # most examples are in no pair: the rest of the work is about the others
    which, ends = np.unique(edges, return_inverse=True)
    ends, rank = ends.reshape(-1, 2), number[which]
    group = _components(which.size, ends)
    lowest = np.full(which.size, n)
    np.minimum.at(lowest, group, rank)
    # the most central: the largest total probability of its pairs, then the first id
    weight, best = np.zeros(which.size), np.zeros(which.size)
    for side in (0, 1):
        np.add.at(weight, ends[:, side], sure)
        np.maximum.at(best, ends[:, side], sure)
    place = np.lexsort((rank, -np.round(weight, 9), group))
    starts, counts = np.unique(group[place], return_index=True, return_counts=True)[1:]
    representative[which[place]] = np.repeat(which[place[starts]], counts)
    number[which], probability[which] = lowest[group], best
    exact = np.ones(n, dtype=bool)
    exact[which] = original[representative[which]] == original[which]
    return DuplicateGroups(source.ids, number, representative, probability, exact, near)


def _components(n: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the connected components of a graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1], dtype=np.int64)


def closeness(measure: str, apart: float | None, other: str) -> str:
    """Say how near an example is to another."""
    if apart is None:
        return f"nearly the same as one that is nearly the same as {other}"
    if measure == "correlation":
        return f"nearly the same pixels as {other}: correlation {1 - apart:.3f} at the best alignment"
    if measure == "columns":
        return f"nearly the same values as {other}: every column within {apart:.1%} of its standard deviation"
    if measure == "words":
        return f"nearly the same words as {other}: {apart:.0%} of them differ"
    return f"nearly the same embedding as {other}: distance {apart:.3g}, far below that of other neighbours"


def given_label(source: Source, position: int) -> str:
    """The label of an example in words; nothing if there is none."""
    if source.labels is None:
        return ""
    label = source.labels[position]
    if source.task == "multilabel":
        return label_words(label, source.classes)
    if source.task == "classification":
        return source.classes[int(label)]
    return ", ".join(f"{value:g}" for value in np.atleast_1d(label))
