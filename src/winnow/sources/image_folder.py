"""Image folders: one subfolder per class, below `train/`, `test/` or `val/` if given; or a flat unlabelled folder.

An example's id is its path relative to the opened folder, so adding files changes no ids. With `task="unlabelled"`
every image below the folder is used, at any depth.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError
from .assembly import OpenRequest, Pieces, assemble
from .images import ImageForm, decode, first_form, readable
from .memory import Remembered, stamp_of
from .splits import choose, split_named, without_splits

__all__ = ["ENDINGS", "has_images", "open_image_folder"]

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


def open_image_folder(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over the images below a folder."""
    name = asked.named(path)
    owner = f"source {name!r}"
    asked.refuse("columns", "labels", of="image folders")
    root, split = _split(path, asked, owner)
    found, other = _listed(root)
    labels, empty = _labels(found, root, asked, owner)
    files = [item.path for item in found]
    if empty and asked.classes is None:
        raise DataError(f"class folder {empty[0]!r} of {owner} holds no image; remove it or fill it.")
    base = root.resolve()
    form = first_form(((file, base / file) for file in files), owner, asked.size)
    skipped = None
    if asked.unreadable == "skip":
        good, skipped = readable(((file, base / file) for file in files), form, len(files), owner)
        found, files = [found[i] for i in good], [files[i] for i in good]
        labels = None if labels is None else [labels[i] for i in good]
    prefix = "" if split is None else f"{root.relative_to(path).as_posix()}/"
    ids = np.array([prefix + file for file in files], dtype=np.str_)
    origin: dict[str, Any] = {"path": str(path), "labels": None if labels is None else "folders"}
    origin |= {"split": split} if split else {}
    origin |= {"skipped": skipped} if skipped else {}
    origin |= {"other_files": other} if other else {}
    seal = _digest((item.path, item.size) for item in found)
    key = (str(base), _digest(found), form)
    reader = ImageFiles(str(base), tuple(files), form)
    return assemble(
        asked,
        name,
        Pieces(
            adapter="image folder",
            read=Remembered(reader, len(files), form.shape, key),
            count=len(files),
            shape=form.shape,
            kind="image",
            target=None if labels is None else np.array(labels, dtype=object),
            own_ids=ids,
            ids_from="paths",
            origin=origin,
            seal=seal,
        ),
    )


def has_images(path: Path) -> bool:
    """Whether there is an image anywhere below."""
    return any(
        name.lower().endswith(ENDINGS) and not name.startswith(".") for _, _, names in os.walk(path) for name in names
    )


def _split(path: Path, asked: OpenRequest, owner: str) -> tuple[Path, str | None]:
    """Return the folder of the requested split; folders are splits only if all of them have split names."""
    folders = [item for item in sorted(path.iterdir()) if item.is_dir() and not item.name.startswith(".")]
    by_split = {split_named(item.name): item for item in folders if has_images(item)}
    if not by_split or None in by_split:
        without_splits(asked.split, owner)
        return path, None
    split = choose([word for word in by_split if word], asked.split, owner)
    return by_split[split], split


class _File(NamedTuple):
    path: str
    size: int
    changed: int


def _listed(root: Path) -> tuple[list[_File], int]:
    """List images below `root`, sorted by posix path, and count other files."""
    found, other = [], 0
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [item for item in subfolders if not item.startswith(".")]
        for name in names:
            if name.startswith("."):
                continue
            if name.lower().endswith(ENDINGS):
                file = Path(folder, name)
                found.append(_File(file.relative_to(root).as_posix(), *stamp_of(file)))
            else:
                other += 1
    return sorted(found), other


def _labels(found: list[_File], root: Path, asked: OpenRequest, owner: str) -> tuple[list[str] | None, list[str]]:
    """Return the class of each image by its top folder, and class folders without images."""
    if asked.task == "unlabelled":
        return None, []
    beside = [item.path for item in found if "/" not in item.path]
    if len(beside) == len(found):
        return None, []
    if beside:
        raise DataError(
            f"{owner} has {len(beside)} images next to its class folders, such as {beside[0]}; move them "
            "into a class, or pass task='unlabelled'."
        )
    labels = [item.path.split("/", 1)[0] for item in found]
    there = {item.name for item in root.iterdir() if item.is_dir() and not item.name.startswith(".")}
    return labels, sorted(there - set(labels))


def _digest(found: Iterable[tuple[object, ...]]) -> str:
    """Digest of paths and sizes, since a path alone does not reflect what is in the file."""
    digest = hashlib.blake2b(digest_size=16)
    for item in found:
        digest.update("\0".join(map(str, (*item, "\n"))).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@dataclass(frozen=True)
class ImageFiles:
    """Reads and decodes files below a folder."""

    root: str
    files: tuple[str, ...]
    form: ImageForm

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        out = np.empty((len(positions), *self.form.shape), dtype=np.uint8)
        for place, position in enumerate(positions.tolist()):
            file = self.files[position]
            out[place] = decode(Path(self.root, file), self.form, file)
        return out
