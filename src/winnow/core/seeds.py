"""One seed, many independent random streams, each identified by its names.

A stream depends only on the seed and its names, so that adding a step, a worker or another seed never changes the
numbers that an existing step draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from .checks import integer
from .errors import InputError

__all__ = ["number", "several", "stream"]


def _entropy(seed: int, names: tuple[str | int, ...]) -> list[int]:
    integer("seed", "winnow", seed, low=0)
    words = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    digest = hashlib.blake2b(words.encode(), digest_size=16).digest()
    return [seed, int.from_bytes(digest, "little")]


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return a separate generator for the given names.

    >>> bool(stream(0, "batches", 3).random() == stream(0, "batches", 3).random())
    True
    >>> bool(stream(0, "batches", 3).random() == stream(0, "batches", 4).random())
    False
    """
    return np.random.default_rng(_entropy(seed, names))


def number(seed: int, *names: str | int) -> int:
    """Return a seed in [0, 2**63) for libraries that need a number (torch, faiss, scikit-learn)."""
    return int(stream(seed, *names).integers(0, 2**63 - 1))


def several(owner: str, seeds: object, low: int = 1) -> list[int]:
    """Return the seeds of repeated trainings, from a count or from the seeds themselves, in increasing order."""
    if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)):
        numbers = sorted(integer("seeds", owner, item, low=0) for item in seeds)
        if len(numbers) < low or len(set(numbers)) != len(numbers):
            raise InputError(
                f"seeds of {owner} must be a count or at least {low} different whole number(s); got {numbers}."
            )
        return numbers
    return list(range(integer("seeds", owner, seeds, low=low)))
