"""Image folders: one subfolder per class, below `train/`, `test/` or `val/` if given; or a flat unlabelled folder.

An example's id is its path relative to the opened folder, so adding files changes no ids. With `task="unlabelled"`
every image below the folder is used, at any depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from .assembly import OpenRequest, Pieces, assemble
from .class_folders import files_digest, folder_labels, holds, listed, split_folder
from .images import ImageForm, decode, first_form, readable
from .memory import Remembered
from .seals import FileStamps

__all__ = ["ENDINGS", "has_images", "open_image_folder"]

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")


def open_image_folder(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over the images below a folder."""
    name = asked.named(path)
    owner = f"source {name!r}"
    asked.refuse("columns", "labels", of="image folders")
    root, split = split_folder(path, ENDINGS, asked, owner)
    found, other = listed(root, ENDINGS)
    labels, empty = folder_labels(found, root, asked, owner, "images")
    files = [item.path for item in found]
    if empty and asked.classes is None:
        raise DataError(f"class folder {empty[0]!r} of {owner} holds no image; remove it or fill it.")
    base = root.resolve()
    form = first_form(((file, base / file) for file in files), owner, asked.size)
    skipped = None
    prefix = "" if split is None else f"{root.relative_to(path).as_posix()}/"
    if asked.unreadable == "skip":
        good, skipped = readable(((prefix + file, base / file) for file in files), form, len(files), owner)
        found, files = [found[i] for i in good], [files[i] for i in good]
        labels = None if labels is None else [labels[i] for i in good]
    ids = np.array([prefix + file for file in files], dtype=np.str_)
    origin: dict[str, Any] = {"path": str(path), "labels": None if labels is None else "folders"}
    origin |= {"split": split} if split else {}
    origin |= {"skipped": skipped} if skipped else {}
    origin |= {"other_files": other} if other else {}
    key = (str(base), files_digest(found), form)
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
            content=reader.content,
            stamps=FileStamps(tuple((str(base / item.path), item.size, item.changed) for item in found)),
            seal=files_digest((item.path, item.size) for item in found),  # if names are trusted
        ),
    )


def has_images(path: Path) -> bool:
    """Whether there is an image anywhere below."""
    return holds(path, ENDINGS)


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

    def content(self) -> Iterator[bytes]:
        """Yield the bytes of every file, in order."""
        for file in self.files:
            try:
                yield Path(self.root, file).read_bytes()
            except OSError as error:
                raise DataError(f"image {file} cannot be read: {reason(error)}.") from None
