"""Nearest neighbours of embeddings, exact for small sets, and with a certified recall for large ones.

Up to `EXACT` rows every row is compared with every other one. Above, rows are put into cells of some hundred
(`row_cells`), in a file if they are many, and a row is compared with those of a few cells, the probes. The nearest cell
alone would miss many neighbours, so a sample of rows, drawn by id, is also compared with all, and the number of probes
grows until the lower confidence bound of the recall is at least .99. In many dimensions that takes most of the
cells. Whoever needs only those neighbours that are much closer than usual, such as copies, can ask for that (`closer`),
which takes a few.

Work follows the order of the ids, so the order in which rows are given plays no part. Distances are computed from
the differences (faiss subtracts large numbers, so what it finds is computed anew): copies have distance 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks
from ..core.progress import task
from ..core.scratch_rows import let_go
from .embedding_index import EmbeddingIndex, number_table
from .row_cells import BLOCK

__all__ = ["EXACT", "Neighbours", "nearest", "neighbour_blocks"]

EXACT = 50_000  # rows up to which every pair is compared
RECALL = 0.99
Block = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]  # positions, their neighbours, distances


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest other rows of each row.

    Parameters
    ----------
    positions
        Their positions, nearest first, ties by id: n x k.
    distances
        Euclidean distances: n x k.
    recall
        What share of the true neighbours (if `closer` was given, of those) is here at least, with 99 % confidence; 1
        if the search was exact.
    probes
        How many cells were searched per row; 0 if the search was exact.
    measured
        The recall on the sample for each number of probes that was tried; the first is that of the nearest cell alone.
    """

    positions: NDArray[np.int64]
    distances: NDArray[np.float32]
    recall: float = 1.0
    probes: int = 0
    measured: dict[int, float] = field(default_factory=dict)


def nearest(
    points: ArrayLike,
    k: int,
    *,
    ids: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    seed: int = 0,
    exact: int = EXACT,
    recall: float = RECALL,
    closer: float | None = None,
) -> Neighbours:
    """Find the k nearest rows of each row, leaving out the row itself.

    Parameters
    ----------
    points
        One row per example; a memory map stays on disk, and so does the copy that is searched if it is large.
    k
        How many neighbours; at most the number of other rows.
    ids
        Ids of the rows: they decide ties and the sample. Positions if not given.
    queries
        Other rows to search for among the points; the points themselves if not given, and then no row finds itself.
    seed
        Seed of the cells and of the sample.
    exact
        Up to how many rows every pair is compared.
    recall
        The recall that is certified above that.
    closer
        If given, the recall is that of neighbours at this fraction of the distance of the k-th: each row of the sample
        is searched for from a point on the way to its k-th neighbour. If not given, that of all k neighbours.

    Returns
    -------
    Neighbours
        Positions and distances, one row per query, in the order given.

    Raises
    ------
    InputError
        If there are fewer than k other rows, or the embeddings are not finite.
    """
    owner = "nearest"
    asked = None if queries is None else number_table("queries", owner, queries)
    index, count = _prepared(points, k, ids, seed, exact, recall, closer, asked is None)
    if asked is not None and asked.shape[1] != index.rows.shape[1]:
        number_table("queries", owner, asked, index.rows.shape[1])
    shape = (index.size if asked is None else len(asked), count)
    positions, distances = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
    if count:
        for where, found, apart in _blocks(index, count, asked):
            positions[where], distances[where] = found, apart
    return Neighbours(positions, distances, index.bound, index.probes, index.measured)


def neighbour_blocks(
    points: ArrayLike,
    k: int,
    *,
    ids: ArrayLike | None = None,
    seed: int = 0,
    closer: float | None = None,
    skip: int = 0,
) -> tuple[Iterator[Block], float]:
    """Find the k nearest other rows of each row, block by block, for whoever needs little of each.

    Parameters
    ----------
    points, k, ids, seed, closer
        As in `nearest`.
    skip
        Blocks at the beginning that are left out, because they are known already.

    Returns
    -------
    tuple
        Blocks of positions, their neighbours and their distances, in any order; and the recall.
    """
    index, count = _prepared(points, k, ids, seed, EXACT, RECALL, closer, True)
    return (_blocks(index, count, None, skip) if count else iter(())), index.bound


def _prepared(
    points: ArrayLike,
    k: int,
    ids: ArrayLike | None,
    seed: int,
    exact: int,
    recall: float,
    closer: float | None,
    own: bool,
) -> tuple[EmbeddingIndex, int]:
    """Return an index that can be searched, and the number of neighbours."""
    owner = "nearest"
    index = EmbeddingIndex(points, ids, seed, owner)
    count = checks.integer("k", owner, k, low=0, high=index.size - own)
    if count == 0:
        return index, count
    if index.size > exact:
        index.cluster()
        wanted = checks.number("recall", owner, recall, low=0, high=1, open_high=True)
        near = None if closer is None else checks.number("closer", owner, closer, low=0, high=1)
        index.certify(min(count, 10), wanted, near)
    else:
        index.fill()
    return index, count


def _blocks(index: EmbeddingIndex, count: int, asked: NDArray[Any] | None, skip: int = 0) -> Iterator[Block]:
    """Search the rows, those of a cell together, or other queries as they come."""
    with task("neighbours", index.size if asked is None else len(asked)) as advance:
        for number, (places, rows) in enumerate(index.blocks() if asked is None else _queries(index, asked)):
            if number >= skip:
                found, apart = index.search(rows, count, places if asked is None else None)
                yield (index.positions(places) if asked is None else places), index.positions(found), apart
            advance(len(rows))


def _queries(index: EmbeddingIndex, asked: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    for start in range(0, len(asked), BLOCK):
        rows = index.centred(asked[start : start + BLOCK])
        let_go(asked)
        yield np.arange(start, start + len(rows)), rows
