"""Texts as rows of numbers without a network: hashed tf-idf of words and of letter sequences, randomly projected.

Words count by how often they are in the text and how few other texts have them (tf-idf); sequences of three letters do
too, so that a misspelt word is still close to itself. Both are hashed and projected to `WIDTH` numbers, unless told
otherwise, which keeps distances within about a tenth: enough to find neighbours, which whoever needs certainty compares
word by word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Source
from ..core.errors import InputError
from ..core.progress import track
from ..core.seeds import stream

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["WIDTH", "text_rows", "word_rarity"]

WIDTH = 128
BUCKETS = 1 << 15  # of words, and of letter sequences
LETTERS = 0.4  # weight of letter sequences; that of words is 1
BLOCK = 4096


def word_rarity(source: Source) -> NDArray[np.float64]:
    """Return how rare each word and each letter sequence is among these texts: 2 x buckets."""
    seen = np.zeros((2, BUCKETS))
    for _, both in _counts(source):
        for place, counts in enumerate(both):
            seen[place] += np.bincount(counts.indices, minlength=BUCKETS)
    return np.asarray(np.log((1 + len(source)) / (1 + seen)) + 1)


def text_rows(
    source: Source, seed: int = 0, width: int = WIDTH, *, rarity: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Return one row per text, in the order of the source.

    Parameters
    ----------
    source
        A source of kind `text`.
    seed
        Seed of the projection.
    width
        Numbers per row.
    rarity
        How rare words are in all texts, if these are some of them; measured on these if not given.

    Examples
    --------
    >>> import winnow as wn
    >>> text_rows(wn.open(["a fine film", "a dull film", "a fine film !"])).shape
    (3, 128)
    """
    if source.kind != "text":
        raise InputError(f"source of text_rows must hold text; source {source.name!r} holds a {source.kind}.")
    rare = word_rarity(source) if rarity is None else rarity
    onto = stream(seed, "text rows").standard_normal((2, BUCKETS, width), dtype=np.float32) / np.float32(width**0.5)
    out = np.zeros((len(source), width), dtype=np.float32)
    for where, both in _counts(source):
        for place, (counts, weight) in enumerate(zip(both, (1.0, LETTERS), strict=True)):
            counts.data = np.sqrt(counts.data) * rare[place][counts.indices]
            length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
            made = counts.astype(np.float32) @ onto[place]
            out[where] += (weight / np.maximum(length, 1e-12)[:, None] * made).astype(np.float32)
    return out


def _counts(source: Source) -> Iterator[tuple[slice, tuple[csr_array, csr_array]]]:
    """Yield how often each word and each letter sequence is in each text, block by block."""
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import HashingVectorizer

    how: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 3), "norm": None, "alternate_sign": False}
    letters = HashingVectorizer(n_features=BUCKETS, **how)
    for start in track(range(0, len(source), BLOCK), "words"):
        where = np.arange(start, min(start + BLOCK, len(source)))
        tokens = source.read(where)
        text, place = np.nonzero(tokens)
        buckets = tokens[text, place].astype(np.int64) * 40_503 % BUCKETS
        words = csr_array((np.ones(text.size), (text, buckets)), shape=(where.size, BUCKETS))
        words.sum_duplicates()
        assert source.read_texts is not None
        yield slice(start, start + where.size), (words, csr_array(letters.transform(source.read_texts(where))))
