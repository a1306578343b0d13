"""Splits: which files, folders or keys are the training data and which are held out.

A split is recognised by the first word of a name: `train-00000-of-00002.parquet`, `test/`, `val.csv`. A source
without splits is all training data. If `test` is requested and only a validation split exists, that one is used
(many image sets name it so); `origin` says which was used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..core.errors import NotFoundError

__all__ = ["choose", "split_named", "without_splits"]

_WORDS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "t10k": "test",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
}
_FIRST_WORD = re.compile(r"[a-zA-Z0-9]+")


def split_named(name: str) -> str | None:
    """Return the split that a file or folder name stands for, if any.

    >>> split_named("train-00000-of-00002.parquet"), split_named("val"), split_named("cats")
    ('train', 'validation', None)
    """
    word = _FIRST_WORD.match(name)
    return _WORDS.get(word.group().lower()) if word else None


def choose(available: Iterable[str], asked: str | None, owner: str) -> str:
    """Choose the split to open: the requested one, or the training data."""
    known = list(dict.fromkeys(available))
    wanted = "train" if asked is None else asked
    if wanted in known:
        return wanted
    canonical = _WORDS.get(wanted.lower(), wanted)
    if canonical in known:
        return canonical
    if canonical == "test" and "validation" in known:
        return "validation"
    raise NotFoundError(f"{owner} has no split {wanted!r}; it has {', '.join(map(repr, sorted(known)))}.")


def without_splits(asked: str | None, owner: str) -> None:
    """Raise if a split is requested of something that has none; all of it counts as training data."""
    if asked is not None and _WORDS.get(asked.lower()) != "train":
        raise NotFoundError(f"{owner} has no split {asked!r}; it is not divided into splits.")
