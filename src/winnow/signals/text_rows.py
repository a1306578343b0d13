"""Texts as rows of numbers without a network: hashed tf-idf of words and of letter sequences, randomly projected.

Words count by how often they are in the text and how few other texts have them (tf-idf); sequences of three letters do
too, so that a misspelt word is still close to itself. Both are hashed and projected to `WIDTH` numbers, which keeps
distances within about a tenth: enough to find neighbours, which whoever needs certainty compares word by word.
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

__all__ = ["WIDTH", "text_rows"]

WIDTH = 128
BUCKETS = 1 << 15  # of words, and of letter sequences
LETTERS = 0.4  # weight of letter sequences; that of words is 1
BLOCK = 4096


def text_rows(source: Source, seed: int = 0) -> NDArray[np.float32]:
    """Return one row per text, in the order of the source.

    Parameters
    ----------
    source
        A source of kind `text`.
    seed
        Seed of the projection.

    Examples
    --------
    >>> import winnow as wn
    >>> text_rows(wn.open(["a fine film", "a dull film", "a fine film !"])).shape
    (3, 128)
    """
    if source.kind != "text":
        raise InputError(f"source of text_rows must hold text; source {source.name!r} holds a {source.kind}.")
    seen = np.zeros((2, BUCKETS))
    for _, both in _counts(source):
        for place, counts in enumerate(both):
            seen[place] += np.bincount(counts.indices, minlength=BUCKETS)
    rarity = np.log((1 + len(source)) / (1 + seen)) + 1
    onto = stream(seed, "text rows").standard_normal((2, BUCKETS, WIDTH), dtype=np.float32) / np.float32(WIDTH**0.5)
    out = np.zeros((len(source), WIDTH), dtype=np.float32)
    for where, both in _counts(source):
        for place, (counts, weight) in enumerate(zip(both, (1.0, LETTERS), strict=True)):
            counts.data = np.sqrt(counts.data) * rarity[place][counts.indices]
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
