"""One seed, many independent random streams, each identified by its names.

A stream depends only on the seed and its names, so that adding a step, a worker or another seed never changes the
numbers that an existing step draws. Draws over examples are also keyed by the example's id (`uniforms`): the number of
an example depends neither on the order of the examples nor on which others there are, so a source can be shuffled,
sharded or extended, and only what has to change does.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import integer
from .errors import InputError

__all__ = ["drawn_first", "number", "several", "stream", "uniforms"]

BLOCK = 8_192  # ids hashed at a time: what is worked on stays in the processor's cache


def _words(names: tuple[str | int, ...]) -> str:
    return "\x1f".join(f"{type(name).__name__}:{name}" for name in names)


def _entropy(seed: int, names: tuple[str | int, ...]) -> list[int]:
    integer("seed", "winnow", seed, low=0)
    digest = hashlib.blake2b(_words(names).encode(), digest_size=16).digest()
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


def uniforms(seed: int, names: str | int | tuple[str | int, ...], ids: ArrayLike) -> NDArray[np.float64]:
    """Return a uniform number in (0, 1) per example, which depends only on the seed, the names and the example's id.

    Two 64-bit keys are hashed from the seed and the names; each id is mixed with one, then with the other. Text ids are
    first hashed to 64 bits by their content.

    Parameters
    ----------
    seed
        The seed, at least 0.
    names
        The name of the stream, or several.
    ids
        Whole numbers of any width, or text.

    Examples
    --------
    >>> first, second = uniforms(0, "draw", [7, 8]), uniforms(0, "draw", [8, 9, 7])
    >>> bool(first[0] == second[2]), bool(first[1] == second[0])
    (True, True)
    """
    integer("seed", "winnow", seed, low=0)
    words = _words(names if isinstance(names, tuple) else (names,))
    digest = hashlib.blake2b(f"{int(seed)}\x1f{words}".encode(), digest_size=16).digest()
    before, between = (np.uint64(int.from_bytes(digest[at : at + 8], "little")) for at in (0, 8))
    given = np.asarray(ids)
    if given.dtype.kind not in "iuU":
        raise InputError(f"ids must be whole numbers or text; got an array of {given.dtype}.")
    out = np.empty(given.size)
    for start in range(0, given.size, BLOCK):
        part = given[start : start + BLOCK]
        mixed = _text(part) if part.dtype.kind == "U" else part.astype(np.uint64)  # negative numbers wrap around
        mixed ^= before
        _mix(mixed)
        mixed ^= between
        _mix(mixed)
        mixed >>= np.uint64(12)
        out[start : start + BLOCK] = mixed  # 52 bits: in 53, the largest plus a half would round up to 1
    out += 0.5
    out *= 2.0**-52
    return out


def drawn_first(
    seed: int, names: str | int | tuple[str | int, ...], ids: ArrayLike, size: int | None = None
) -> NDArray[np.int64]:
    """Return positions in random order, keyed by id: all, or the first `size`, a uniform draw without replacement."""
    drawn = uniforms(seed, names, ids)
    few = np.arange(0)
    if size is not None and 2 * size < drawn.size:  # almost surely these are below a bound, and the rest is not sorted
        few = np.flatnonzero(drawn < (size + 8 * math.sqrt(size)) / drawn.size)
    if size is None or few.size < size:
        return np.argsort(drawn, kind="stable")[:size]
    return few[np.argsort(drawn[few], kind="stable")[:size]]


def _mix(values: NDArray[np.uint64]) -> None:
    """Scramble 64-bit numbers in place: the finaliser of SplitMix64, a bijection (Steele, Lea and Flood 2014)."""
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)


def _text(ids: NDArray[np.str_]) -> NDArray[np.uint64]:
    """Hash text to 64 bits, two letters at a time. The width of the array plays no part: other ids determine it."""
    lengths = np.char.str_len(ids)
    width = max(2, (int(lengths.max(initial=0)) + 1) & ~1)
    pairs = np.ascontiguousarray(ids, dtype=f"<U{width}").view("<u8").reshape(ids.size, -1).T.astype(np.uint64)
    out = lengths.astype(np.uint64)
    for start, word in enumerate(pairs):
        word ^= out
        _mix(word)
        np.copyto(out, word, where=lengths > 2 * start)
    return out


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
