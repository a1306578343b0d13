"""Splits: which files, folders or keys are the training data and which are held out.

A split is recognised by the first word of a name: `train-00000-of-00002.parquet`, `test/`, `val.csv`. A source
without splits is all training data. If `test` is requested and only a validation split exists, that one is used
(many image sets name it so); `origin` says which was used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..core.errors import DataError, NotFoundError

__all__ = ["choose", "shards_of_split", "split_files", "split_named", "walked", "without_splits"]

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
FOLDERS = 200_000  # below a folder that is opened
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


def walked(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Each folder at or below a path, with the names of its files; hidden ones, such as `.git`, are left out.

    Parameters
    ----------
    root
        Where to begin.

    Raises
    ------
    DataError
        If there are so many folders that it cannot be data: a home or a whole disk would be read for minutes.
    """
    for count, (folder, subfolders, names) in enumerate(os.walk(root)):
        if count == FOLDERS:
            raise DataError(f"{root} has more than {FOLDERS:,} folders below it; open the one that holds the data.")
        subfolders[:] = [item for item in subfolders if not item.startswith(".")]
        yield folder, [name for name in names if not name.startswith(".")]


def split_files(path: Path, endings: tuple[str, ...], asked: str | None, owner: str) -> tuple[list[str], str | None]:
    """Return the shards to read, in the order of their names, and their split.

    Parameters
    ----------
    path
        A file, or a folder of shards at any depth.
    endings
        How their names end.
    asked
        The split that was asked for.
    owner
        Their owner, named in messages.
    """
    if path.is_file():
        without_splits(asked, owner)
        return [str(path.resolve())], None
    found = sorted(
        item
        for folder, names in walked(path)
        for name in names
        if (item := Path(folder, name)).suffix.lower() in endings and not name.startswith("_") and item.is_file()
    )
    return shards_of_split({str(item.relative_to(path)): str(item.resolve()) for item in found}, asked, owner)


def shards_of_split(files: Mapping[str, str], asked: str | None, owner: str) -> tuple[list[str], str | None]:
    """Return the files of a split, in the order given, and its name; `files` maps their paths in a folder to them."""
    by_split: dict[str | None, list[str]] = {}
    for inside, file in files.items():
        split = next((word for part in reversed(Path(inside).parts) if (word := split_named(part))), None)
        by_split.setdefault(split, []).append(file)
    if list(by_split) == [None]:
        without_splits(asked, owner)
        return by_split[None], None
    if None in by_split:
        raise DataError(
            f"{owner} has files with and without a split in their name, such as {Path(by_split[None][0]).name}; "
            "name each train-*, test-* or validation-*, or open one file."
        )
    split = choose([word for word in by_split if word], asked, owner)
    return by_split[split], split


def without_splits(asked: str | None, owner: str) -> None:
    """Raise if a split is requested of something that has none; all of it counts as training data."""
    if asked is not None and _WORDS.get(asked.lower()) != "train":
        raise NotFoundError(f"{owner} has no split {asked!r}; it is not divided into splits.")
