"""Slow, obvious twin of the draws keyed by id: one example at a time, in Python's own integers."""

from __future__ import annotations

import hashlib

MASK = 2**64 - 1


def mixed(value):
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 & MASK
    value ^= value >> 27
    value = value * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def number_of(name):
    """A whole number as 64 bits; a text letter pair by letter pair, starting from its length."""
    if isinstance(name, int):
        return name & MASK
    state = len(name)
    for at in range(0, len(name), 2):
        pair = [ord(letter) for letter in name[at : at + 2]]
        state = mixed(state ^ pair[0] ^ (pair[1] << 32 if len(pair) == 2 else 0))
    return state


def uniform(seed, names, name):
    words = "\x1f".join([str(seed), *(f"{type(word).__name__}:{word}" for word in names)])
    digest = hashlib.blake2b(words.encode(), digest_size=16).digest()
    before, between = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    return ((mixed(mixed(number_of(name) ^ before) ^ between) >> 12) + 0.5) / 2**52
