"""One seed, many independent random streams, each known by its name.

A stream depends on the seed and the words that name it and on nothing else, so that adding a step, a
worker or another seed never shifts the numbers that an existing step draws.
"""

from __future__ import annotations

import hashlib

import numpy as np

from .checks import integer

__all__ = ["number", "stream"]


def _entropy(seed: int, names: tuple[str | int, ...]) -> list[int]:
    integer("seed", "winnow", seed, low=0)
    words = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    digest = hashlib.blake2b(words.encode(), digest_size=16).digest()
    return [seed, int.from_bytes(digest, "little")]


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for the words in `names`.

    >>> bool(stream(0, "batches", 3).random() == stream(0, "batches", 3).random())
    True
    >>> bool(stream(0, "batches", 3).random() == stream(0, "batches", 4).random())
    False
    """
    return np.random.default_rng(_entropy(seed, names))


def number(seed: int, *names: str | int) -> int:
    """A seed in [0, 2**63) for libraries that want a number (torch, faiss, scikit-learn)."""
    return int(stream(seed, *names).integers(0, 2**63 - 1))
