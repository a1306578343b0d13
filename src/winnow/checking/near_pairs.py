"""Pairs of examples that are nearly the same, with the probability that this is no chance.

Candidates are nearest neighbours. What makes a pair near depends on the kind of data:

| kind | candidates | near if |
|---|---|---|
| image | prints of the images, plain and cropped; given embeddings | the dissimilarity at the best alignment is at most .1, and far below that of the other candidates of both |
| table | standardised columns | every column agrees within .05 standard deviations, and the distance is far below that of the tenth neighbours |
| text | hashed words and letter sequences; given embeddings | few words differ, none of them only at an end, and the rest is more than chance gives (`text_match`) |
| other | given embeddings, or the values themselves | the distance is far below that of the tenth neighbours |

How far "far below" is depends on the data. With rows spread smoothly in m dimensions, the nearest of them is closer than
r times the distance of the tenth with a probability of about 9 r^m; each pair is counted for both of its rows. With
`COPIES`, the share of copies that is assumed beforehand (larger among rows that agree in every column), the probability
of a copy is 1 / (1 + 4.5 r^m / COPIES): in two dimensions r must be very small, in ten .4 is enough. The dimension m is
estimated from the neighbours' distances (Levina and Bickel 2004).

For images r is the root of the ratio of dissimilarities, and the probability was fitted on planted copies (JPEG of
quality 50, shifts, crops, brightness) in MNIST and the CIFAR-10 test images: it falls from 1 to 0 around r = .42.
That alone would call two different pictures near where all others are even less alike, so their correlation must also be
`ALIKE`: of 330 planted copies in MNIST and the CIFAR-10 test images the lowest was .943 (JPEG), and of 330 in
Fashion-MNIST and the CIFAR-10 training images, which were not used to choose it, .944.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..artefacts import Source
from ..core import checks
from ..core.files import Pieces
from ..core.progress import track
from ..core.scratch_rows import let_go, rows_at, scratch_rows
from ..signals.neighbours import nearest, neighbour_blocks
from ..signals.text_rows import text_rows
from .image_match import CROP, dissimilarity, prints, reduced
from .pair_search import PairSearch
from .table_match import CLOSE, chance_agreements, standard_rows, widest_gap
from .text_match import copy_probability

__all__ = ["NearPairs", "checks_rows", "image_prints", "near_pairs", "pictured"]

Pairs = NDArray[np.int64]

CANDIDATES = 6  # neighbours per example that are compared
TYPICAL = 10  # the neighbour whose distance is the usual one
CLOSER = 0.7  # how near copies of images are in prints or embeddings, as a share of the distance of the last candidate
COPIES = 0.0005  # the share of copies assumed beforehand
COPIES_CLOSE = 0.02  # the same, among rows whose columns all agree
MIDDLE, SLOPE = 0.42, 0.025  # of the probability of images
ALIKE = 0.9  # correlation of near-duplicate images at the best alignment, at least
RATIO_ROWS, RATIO_POINTS = 0.3, 0.5  # the largest r of table rows and of embeddings that are not verified
CHANCE = 0.01  # rows that may agree as well by chance, if columns were independent
NEVER = 1e-6  # the same, if chance is out of the question
SURE = 0.5  # the least probability of a pair
READ = 4_096  # examples read at a time
PAIRS = 16_384  # pairs of images compared at a time
PLAIN = 1e-6  # dissimilarity of images that are the same but for rounding


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Pairs of examples that are nearly the same.

    Parameters
    ----------
    pairs
        Their positions: m x 2, sorted.
    probabilities
        That each is no chance.
    apart
        How far apart each is: one minus the correlation of images, the widest difference of a column in standard
        deviations, the share of words that differ, or the distance of embeddings.
    measure
        Which of these: `correlation`, `columns`, `words` or `distance`.
    recall
        The certified share of copies among the candidates; 1 if every pair of examples was compared.
    """

    pairs: Pairs
    probabilities: NDArray[np.float64]
    apart: NDArray[np.float64]
    measure: str
    recall: float = 1.0


def near_pairs(source: Source, embeddings: ArrayLike | None = None, *, seed: int = 0) -> NearPairs:
    """Find pairs of examples that are nearly the same; those with equal content should be taken out before.

    Parameters
    ----------
    source
        The examples.
    embeddings
        One row per example, in the order of the source. They add candidates for images and text, replace the values of
        examples that are none of these, and play no part for tables.
    seed
        Seed of the search in large sets.
    """
    given = None if embeddings is None else checks_rows(embeddings, len(source))
    if len(source) < 3:
        return NearPairs(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0), "distance")
    if pictured(source):
        return _images(source, given, seed)
    if source.kind == "text":
        return _texts(source, given, seed)
    if source.kind == "table" or given is None:
        rows = standard_rows(source)
        return _points(source, rows, seed, verify=source.kind == "table")
    return _points(source, given, seed, verify=False)


def checks_rows(embeddings: ArrayLike, n: int) -> NDArray[Any]:
    """Embeddings as a table with a row per example; a memory map stays one."""
    made = np.asanyarray(embeddings)
    if made.ndim != 2 or len(made) != n:
        checks.array("embeddings", "check", made, ndim=2, rows=n)
    return made


def pictured(source: Source) -> bool:
    """Whether examples can be compared as images."""
    side = source.shape[1:] if len(source.shape) == 3 else ()
    return bool(side) and source.shape[0] in (1, 3, 4) and min(side) >= 8


def image_prints(source: Source) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The prints of all images, plain and cropped, in the order of the source; many are in files."""
    width = prints(torch.zeros((1, *_reduced(source, np.arange(1)).shape[1:]))).shape[1]
    made = tuple(scratch_rows((len(source), width), np.float32) for _ in range(2))
    for start in track(range(0, len(source), READ), "prints of images"):
        x = _reduced(source, np.arange(start, min(start + READ, len(source))))
        for view, crop in enumerate((0.0, CROP)):
            made[view][start : start + READ] = prints(x, crop)
            let_go(made[view])
    return made[0], made[1]


def _images(source: Source, given: NDArray[Any] | None, seed: int) -> NearPairs:
    whole, inner = image_prints(source)
    k = min(CANDIDATES, len(source) - 1)
    plain = nearest(whole, k, ids=source.ids, seed=seed, closer=CLOSER)
    zoomed = nearest(whole, min(k + 1, len(source)), ids=source.ids, queries=inner, seed=seed, closer=CLOSER)
    found = [plain.positions, zoomed.positions]
    if given is not None:
        found.append(nearest(given, k, ids=source.ids, seed=seed, closer=CLOSER).positions)
    pairs = _unique(found)
    apart = np.empty(len(pairs))
    for start in track(range(0, len(pairs), PAIRS), "pairs of images"):
        which, places = np.unique(pairs[start : start + PAIRS], return_inverse=True)
        apart[start : start + PAIRS] = dissimilarity(_reduced(source, which), places.reshape(-1, 2))
    usual = _usual(pairs, apart, len(source))
    ratio = np.sqrt(apart / np.maximum(np.minimum(usual[pairs[:, 0]], usual[pairs[:, 1]]), 1e-12))
    sure = 1 / (1 + np.exp(np.clip((ratio - MIDDLE) / SLOPE, -50, 50)))
    sure = np.where(apart < PLAIN, 1.0, np.where(apart > 1 - ALIKE, 0.0, sure))
    return _sorted(pairs, sure, apart, "correlation", min(plain.recall, zoomed.recall))


def _texts(source: Source, given: NDArray[Any] | None, seed: int) -> NearPairs:
    k = min(TYPICAL, len(source) - 1)
    rows = [text_rows(source, seed)] + ([] if given is None else [given])
    found = [nearest(one, k, ids=source.ids, seed=seed, closer=CLOSER) for one in rows]
    pairs = _unique([one.positions for one in found])
    sure, apart = copy_probability(source.read(np.arange(len(source))), pairs)
    return _sorted(pairs, sure, apart, "words", found[0].recall)


def _reduced(source: Source, positions: Pairs) -> torch.Tensor:
    values = source.read(positions)
    if values.dtype != np.uint8:  # images that were scaled: to about the range of bytes, so that flat ones are known
        values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0) * np.float32(64.0)
    return reduced(values)


def _usual(pairs: Pairs, apart: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The usual dissimilarity around each example: a low quantile over its pairs, and not far below that of all.

    The second half is for groups of many copies, where all pairs of an example are near.
    """
    which, values = pairs.T.ravel(), np.tile(apart, 2)
    order = np.lexsort((values, which))
    counts = np.bincount(which, minlength=n)
    ends = np.cumsum(counts)
    place = ends - counts + np.floor(0.3 * np.maximum(counts - 1, 0)).astype(np.int64)
    found = np.where(counts > 0, values[order][np.minimum(place, len(order) - 1)], np.inf)
    return np.maximum(found, np.median(apart) / 16)


def _points(source: Source, rows: NDArray[Any], seed: int, *, verify: bool) -> NearPairs:
    k = min(TYPICAL, len(source) - 1)
    limit = RATIO_ROWS if verify else RATIO_POINTS
    search = PairSearch(rows, Pieces(source.ids.nbytes, lambda: [source.ids.tobytes()]), seed, verify)
    blocks, recall = neighbour_blocks(rows, k, ids=source.ids, seed=seed, closer=limit, skip=search.done)
    # all columns within CLOSE is a distance of at most so much, which leaves few to look at
    reach, some = CLOSE * float(np.sqrt(rows.shape[1])), min(CANDIDATES, k)
    for where, positions, distances in blocks:
        both = np.stack([np.repeat(where, some), positions[:, :some].ravel()], axis=1)
        # most candidates are no copies; they are left out here, so that memory does not grow with all of them
        most = reach if verify else limit * distances[:, -1:]
        both = both[(distances[:, :some] <= 1.01 * most + 1e-9).ravel()]
        near = both[widest_gap(rows, both) <= CLOSE] if verify else both
        search.add(where, distances[:, -1], _log_spread(distances), near)
    typical, spread = search.typical, search.spread
    m = _dimension(spread, k)
    pairs = _each_once(search.pairs, len(source))
    left, right = pairs.T
    distance = np.empty(len(pairs))
    for start in range(0, len(pairs), 65_536):
        part = slice(start, start + 65_536)
        gap = rows_at(rows, left[part]).astype(np.float32) - rows_at(rows, right[part]).astype(np.float32)
        distance[part] = np.sqrt(np.square(gap).sum(axis=1))
    usual = np.minimum(typical[left], typical[right])
    if not verify:
        return _sorted(pairs, _no_chance(distance / np.maximum(usual, 1e-12), m, limit, COPIES), distance, "distance",
                       recall)  # fmt: skip
    apart = widest_gap(rows, pairs)
    chance = chance_agreements(rows, pairs)
    # where all neighbours are copies of each other, the usual distance is that of other rows
    crowded = np.where(chance < NEVER, np.maximum(usual, np.median(typical) / 16), usual)
    sure = _no_chance(distance / np.maximum(crowded, 1e-12), m, limit, COPIES_CLOSE)
    sure[chance > CHANCE] = 0.0
    return _sorted(pairs, sure, apart, "columns", recall)


def _no_chance(ratio: NDArray[np.float64], m: float, limit: float, copies: float) -> NDArray[np.float64]:
    """The probability that pairs at this ratio of the usual distance are no chance, in m dimensions."""
    return np.where(ratio > limit, 0.0, 1 / (1 + (TYPICAL - 1) / 2 * np.minimum(ratio, 1.0) ** m / copies))


def _log_spread(distances: NDArray[np.float32]) -> NDArray[np.float64]:
    """How fast the distances of neighbours 3 and beyond grow, per row; NaN if the third is a copy."""
    far = distances[:, 2:].astype(np.float64)
    out = np.full(len(far), np.nan)
    if far.shape[1] >= 3:
        good = far[:, 0] > 0
        out[good] = np.log(far[good, -1:] / far[good, :-1]).mean(axis=1)
    return out


def _dimension(spread: NDArray[np.floating], k: int) -> float:
    """The dimension in which the rows are spread, from the distances of their k neighbours."""
    known = spread[~np.isnan(spread)]
    if not known.size:
        return 1.0
    # in one dimension, the expected log ratio of the k-th and the j-th neighbour is 1/j + ... + 1/(k-1)
    one = np.mean([sum(1 / i for i in range(j, k)) for j in range(3, k)])
    return float(np.clip(one / max(float(np.median(known)), 1e-3), 1.0, 100.0))


def _unique(found: list[Pairs]) -> Pairs:
    """Each pair once, the smaller position first, without pairs of an example with itself."""
    both = [np.stack([np.repeat(np.arange(len(one)), one.shape[1]), one.ravel()], axis=1) for one in found]
    return _each_once(np.concatenate(both), len(found[0]))


def _each_once(found: Pairs, n: int) -> Pairs:
    pairs = np.sort(found, axis=1)
    keys = np.unique(pairs[:, 0] * n + pairs[:, 1])
    out = np.stack([keys // n, keys % n], axis=1)
    return np.asarray(out[out[:, 0] != out[:, 1]])


def _sorted(
    pairs: Pairs, sure: NDArray[np.float64], apart: NDArray[np.float64], measure: str, recall: float
) -> NearPairs:
    near = sure >= SURE
    return NearPairs(pairs[near], sure[near], apart[near], measure, recall)
