"""How surely two texts are copies of which one was changed: word by word, and against what chance would give.

The distance of two texts is the number of words and punctuation marks that must be replaced, swapped with their
neighbour, added or left out. A text that is merely part of another is not a copy of it: phrases cut from sentences and
quotations are like that. So no pair is claimed in which one text has more at its beginning or end than the other.

What is left over must be more than chance gives. A word that is in the share q of the texts tells -log q; the words
that two texts share tell the sum of that. Words of a language come together, so only `KNOWN` of the sum counts. With n
texts, n exp(-sum) of them would share as much by chance; with `COPIES`, the share of copies that is assumed beforehand,
the probability of a copy is 1 / (1 + n exp(-sum) / COPIES).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.jit import compiled

__all__ = ["copy_probability", "edits"]

Pairs = NDArray[np.int64]

CHANGED = 0.3  # the largest share of a text's words that may differ
KNOWN = 0.75
COPIES = 0.001


def copy_probability(tokens: NDArray[np.int32], pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability that each pair is a copy, and the share of words that differ.

    Parameters
    ----------
    tokens
        One row of token ids per text, 0 after the last.
    pairs
        Positions of the texts to compare, two per row.
    """
    changes, ends, shared = edits(np.ascontiguousarray(tokens), _rarity(tokens), pairs)
    longest = np.maximum((tokens > 0).sum(axis=1)[pairs].max(axis=1, initial=1), 1)
    share = changes / longest
    chance = len(tokens) * np.exp(-KNOWN * shared)
    sure = 1 / (1 + chance / COPIES)
    sure[(ends > 0) | (share > CHANGED)] = 0.0
    return sure, share


def _rarity(tokens: NDArray[np.int32]) -> NDArray[np.float64]:
    """How much each word tells, by the share of texts that have it; 0 for padding."""
    known, place = np.unique(tokens, return_inverse=True)
    text = np.repeat(np.arange(len(tokens)), tokens.shape[1])
    once = np.unique(place.reshape(-1) * len(tokens) + text) // len(tokens)
    told = np.log(len(tokens) / np.maximum(np.bincount(once, minlength=known.size), 1))
    return np.where(tokens > 0, told[place.reshape(tokens.shape)], 0.0)


@compiled
def edits(
    words: NDArray[np.int32], rarity: NDArray[np.float64], pairs: Pairs
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for each pair: changes of words, those of them at an end of the longer text, what the shared words tell.

    Changes are those of the optimal alignment of Damerau and Levenshtein. Aligned a second time, words of the longer
    text before and after the shorter one are free; the difference is the number of changes at an end.
    """
    count, width = len(pairs), words.shape[1]
    changes, ends, shared = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count)
    for pair in range(count):
        a, b = pairs[pair, 0], pairs[pair, 1]
        m, n = 0, 0
        while m < width and words[a, m] > 0:
            m += 1
        while n < width and words[b, n] > 0:
            n += 1
        if m > n:
            a, b, m, n = b, a, n, m
        for free in range(2):
            cost = np.zeros((m + 1, n + 1), np.int64)
            for i in range(m + 1):
                cost[i, 0] = i
            for j in range(n + 1):
                cost[0, j] = 0 if free else j
            for i in range(1, m + 1):
                for j in range(1, n + 1):
                    same = words[a, i - 1] == words[b, j - 1]
                    best = min(cost[i - 1, j] + 1, cost[i, j - 1] + 1, cost[i - 1, j - 1] + (0 if same else 1))
                    if i > 1 and j > 1 and words[a, i - 1] == words[b, j - 2] and words[a, i - 2] == words[b, j - 1]:
                        best = min(best, cost[i - 2, j - 2] + 1)
                    cost[i, j] = best
            if free:
                ends[pair] = changes[pair] - cost[m].min()
            else:
                changes[pair] = cost[m, n]
        taken = np.zeros(n, np.bool_)
        for i in range(m):
            for j in range(n):
                if not taken[j] and words[a, i] == words[b, j]:
                    taken[j] = True
                    shared[pair] += rarity[a, i]
                    break
    return changes, ends, shared
