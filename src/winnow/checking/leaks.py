"""Leaks: training examples that are also in the test set, by content and never by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Source
from ..artefacts.derived_readers import Read
from ..artefacts.finding import Finding
from ..core.errors import InputError
from ..sources.content import content_keys
from .duplicates import REPEATED, closeness, given_label
from .near_pairs import checks_rows, near_pairs
from .table_match import comparable, repeat_probability

__all__ = ["leaks"]


def leaks(
    source: Source,
    test: Source,
    embeddings: ArrayLike | None = None,
    test_embeddings: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> list[Finding]:
    """Find training examples with the same content as a test example, or nearly the same.

    Parameters
    ----------
    source, test
        Training and test examples of the same shape.
    embeddings, test_embeddings
        One row per example of each; both or neither. See `near_pairs`.
    seed
        Seed of the search in large sets.

    Returns
    -------
    list
        One finding per training example, in the order of the source: `other` is the id of the test example, and the
        evidence says if its label is another one.

    Raises
    ------
    InputError
        If the two have examples of different shapes, or embeddings of only one of them are given.
    """
    test = test.as_in(source)
    if source.shape != test.shape:
        raise InputError(f"test of check must have examples of shape {source.shape}; got {test.shape}.")
    if (embeddings is None) != (test_embeddings is None):
        raise InputError("check needs embeddings of the test set too, or of neither.")
    n = len(source)
    both = _both(source, test)
    keys = np.concatenate([content_keys(source), content_keys(test)])
    partner, sure, apart = np.full(n, -1), np.zeros(n), np.full(n, np.nan)
    _exact(both, keys, n, partner, sure)
    found = partner >= 0
    apart[found] = 0.0
    # near only for what is not exact, one example per content and side
    side = np.arange(len(both)) >= n
    order = both.order
    _, first = np.unique(np.stack([keys[order], side[order].astype(np.uint64)]), axis=1, return_index=True)
    single = order[np.sort(first)]
    single = np.sort(single[~np.isin(keys[single], keys[:n][found])])
    given = None
    if embeddings is not None and test_embeddings is not None:
        given = _Stacked(checks_rows(embeddings, n), checks_rows(test_embeddings, len(test))).at(single)
    near = near_pairs(both.at(single), given, seed=seed)
    pairs = single[near.pairs]
    across = (pairs[:, 0] < n) & (pairs[:, 1] >= n)
    best = np.lexsort((near.apart[across], -near.probabilities[across]))[::-1]  # the best is written last
    mine, theirs = pairs[across][best].T
    partner[mine], sure[mine], apart[mine] = theirs, near.probabilities[across][best], near.apart[across][best]
    # further training examples with the content of one that leaks
    known, place = np.unique(keys[mine], return_index=True)
    same = np.flatnonzero((partner < 0) & np.isin(keys[:n], known))
    origin = mine[place[np.searchsorted(known, keys[same])]]
    partner[same], sure[same], apart[same] = partner[origin], sure[origin], apart[origin]
    return [
        _finding(source, test, int(one), int(partner[one]) - n, float(sure[one]), float(apart[one]), near.measure)
        for one in np.flatnonzero(partner >= 0)
    ]


def _exact(
    both: Source, keys: NDArray[np.uint64], n: int, partner: NDArray[np.int64], sure: NDArray[np.float64]
) -> None:
    """Write down the first test example (by id) with the content of each training example, and how sure it is."""
    later = both.order[both.order >= n]
    known, first = np.unique(keys[later], return_index=True)
    if not known.size:
        return
    place = np.minimum(np.searchsorted(known, keys[:n]), known.size - 1)
    same = known[place] == keys[:n]
    chance = np.ones(n)
    if both.kind == "table" and same.any():
        chance = repeat_probability(comparable(both))[:n]
    same &= chance >= REPEATED
    partner[same] = later[first[place[same]]]
    sure[same] = chance[same]


def _finding(source: Source, test: Source, mine: int, theirs: int, sure: float, apart: float, measure: str) -> Finding:
    other = str(test.ids[theirs])
    words = f"the same content as test example {other}"
    if apart > 0:
        words = closeness(measure, apart, f"test example {other}")
    labels = given_label(source, mine), given_label(test, theirs)
    if all(labels) and labels[0] != labels[1]:
        words += f"; there it has the label {labels[1]}"
    return Finding(
        kind="leak", probability=sure, evidence=words, id=source.ids[mine].item(), label=labels[0], other=other,
        flagged=True,
    )  # fmt: skip


def _both(source: Source, test: Source) -> Source:
    """Training and test examples as one source, whose ids tell the sides apart whatever their names."""
    ids = [np.char.add(side, one.ids.astype(np.str_)) for side, one in (("train:", source), ("~test:", test))]
    texts = None
    if source.read_texts is not None and test.read_texts is not None:
        texts = _Chained(source.read_texts, test.read_texts, len(source))
    return Source(
        name=source.name,
        read=_Chained(source.read, test.read, len(source)),
        size=len(source) + len(test),
        shape=source.shape,
        kind=source.kind,
        task="unlabelled",
        make_ids=np.concatenate(ids),
        read_texts=texts,
        raw=None if source.raw is None or test.raw is None else source.raw.joined(test.raw),
    )


@dataclass(frozen=True)
class _Chained:
    """Reads from two readers as if their examples stood one after the other."""

    first: Read
    second: Read
    count: int

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        late = positions >= self.count
        if not late.any():
            return self.first(positions)
        if late.all():
            return self.second(positions - self.count)
        early = self.first(positions[~late])
        out = np.empty((len(positions), *early.shape[1:]), dtype=early.dtype)
        out[~late], out[late] = early, self.second(positions[late] - self.count)
        return out


@dataclass(frozen=True)
class _Stacked:
    """Rows of two tables as one."""

    first: NDArray[Any]
    second: NDArray[Any]

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(_Chained(self._of(self.first), self._of(self.second), len(self.first))(positions))

    @staticmethod
    def _of(table: NDArray[Any]) -> Read:
        return lambda positions: np.asarray(table[positions], dtype=np.float32)
