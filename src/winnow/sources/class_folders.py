"""Folders of files with one subfolder per class, below `train/`, `test/` or `val/` if given: images and texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..core.errors import DataError
from .assembly import OpenRequest
from .memory import stamp_of
from .splits import choose, split_named, walked, without_splits

__all__ = ["FoundFile", "files_digest", "folder_labels", "holds", "listed", "split_folder"]


def holds(path: Path, endings: tuple[str, ...]) -> bool:
    """Whether there is a file with one of these endings anywhere below."""
    return any(name.lower().endswith(endings) for _, names in walked(path) for name in names)


def split_folder(path: Path, endings: tuple[str, ...], asked: OpenRequest, owner: str) -> tuple[Path, str | None]:
    """Return the folder of the requested split; folders are splits only if all of them have split names."""
    folders = [item for item in sorted(path.iterdir()) if item.is_dir() and not item.name.startswith(".")]
    by_split = {split_named(item.name): item for item in folders if holds(item, endings)}
    if not by_split or None in by_split:
        without_splits(asked.split, owner)
        return path, None
    split = choose([word for word in by_split if word], asked.split, owner)
    return by_split[split], split


class FoundFile(NamedTuple):
    """A file below a folder: its posix path, and its size and time of change."""

    path: str
    size: int
    changed: int


def listed(root: Path, endings: tuple[str, ...]) -> tuple[list[FoundFile], int]:
    """List files with these endings below `root`, sorted by posix path, and count the others."""
    found, other = [], 0
    for folder, names in walked(root):
        for name in names:
            if name.lower().endswith(endings):
                file = Path(folder, name)
                if not file.is_file():
                    what = "a link to nothing" if file.is_symlink() else "not a file"
                    raise DataError(f"{file} is {what}; remove it from the folder.")
                found.append(FoundFile(file.relative_to(root).as_posix(), *stamp_of(file)))
            else:
                other += 1
    return sorted(found), other


def folder_labels(
    found: list[FoundFile], root: Path, asked: OpenRequest, owner: str, noun: str
) -> tuple[list[str] | None, list[str]]:
    """Return the class of each file by its top folder, and class folders without such files."""
    if asked.task == "unlabelled":
        return None, []
    beside = [item.path for item in found if "/" not in item.path]
    if len(beside) == len(found):
        return None, []
    if beside:
        raise DataError(
            f"{owner} has {len(beside)} {noun} next to its class folders, such as {beside[0]}; move them "
            "into a class, or pass task='unlabelled'."
        )
    labels = [item.path.split("/", 1)[0] for item in found]
    there = {item.name for item in root.iterdir() if item.is_dir() and not item.name.startswith(".")}
    return labels, sorted(there - set(labels))


def files_digest(found: Iterable[tuple[object, ...]]) -> str:
    """Digest of paths and sizes, since a path alone does not reflect what is in the file."""
    digest = hashlib.blake2b(digest_size=16)
    for item in found:
        digest.update("\0".join(map(str, (*item, "\n"))).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
