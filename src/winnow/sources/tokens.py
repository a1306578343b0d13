"""Token ids: a text as a row of whole numbers of one length, without a vocabulary to keep.

A text is lowercased and cut into words, punctuation marks and single Chinese or Japanese characters. The id of a token
is a hash of it, the same on every machine, so that a test set, another run and another process mean the same by it.
Id 0 is padding: rows are filled up with it, and texts longer than the row are cut.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUCKETS", "SEPARATOR", "row_length", "token_rows", "words_of"]

BUCKETS = 1 << 18  # token ids, with 0 for padding
SEPARATOR = "\u241e"  # the sign for "record separator", between the two texts of a pair; a token of its own
LONGEST = 256  # tokens per row at most
QUANTILE = 0.99  # of the lengths: the longest texts would make all rows long

_SINGLE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # characters of scripts without spaces are tokens by themselves
_TOKEN = re.compile(rf"[{_SINGLE}]|[^\W_{_SINGLE}]+(?:['\u2019][^\W_{_SINGLE}]+)*|[^\w\s]|_")


def words_of(text: str) -> list[str]:
    """Cut a text into lowercase tokens.

    >>> words_of("It doesn't work: 3 of 4!")
    ['it', "doesn't", 'work', ':', '3', 'of', '4', '!']
    """
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=BUCKETS)
def _id(token: str) -> int:
    return 1 + zlib.crc32(token.encode("utf-8", "surrogatepass")) % (BUCKETS - 1)


def token_rows(texts: Sequence[str] | NDArray[np.object_], length: int) -> NDArray[np.int32]:
    """Return the token ids of texts: one row of `length` per text.

    Parameters
    ----------
    texts
        The strings.
    length
        Token ids per row.
    """
    out = np.zeros((len(texts), length), dtype=np.int32)
    for row, text in enumerate(texts):
        found = [_id(token) for token in words_of(text)[:length]]
        out[row, : len(found)] = found
    return out


def row_length(blocks: Iterable[Sequence[str] | NDArray[np.object_]]) -> int:
    """Return the length of rows for texts, given in blocks: nearly the longest one, but no more than `LONGEST`."""
    counts = [np.array([len(words_of(text)) for text in block], dtype=np.int64) for block in blocks]
    wanted = np.quantile(np.concatenate(counts), QUANTILE, method="higher")
    return int(np.clip(wanted, 1, LONGEST))
