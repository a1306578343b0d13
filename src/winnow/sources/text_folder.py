"""Text folders: one `.txt` file per example, in one subfolder per class, below `train/` and `test/` if given.

An example's id is its path relative to the opened folder, so adding files changes no ids. Files are UTF-8, or of the
encoding that is declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from .assembly import OpenRequest, Pieces, assemble
from .class_folders import FoundFile, files_digest, folder_labels, holds, listed, split_folder
from .file_encoding import ORIGIN, decoded, not_utf8
from .memory import unchanged
from .seals import FileStamps
from .texts import text_pieces

__all__ = ["ENDINGS", "has_texts", "open_text_folder"]

ENDINGS = (".txt",)


def has_texts(path: Path) -> bool:
    """Whether there is a text file in a folder below; texts beside other data, such as a README, do not count."""
    folders = (item for item in path.iterdir() if item.is_dir() and not item.name.startswith("."))
    return any(holds(item, ENDINGS) for item in folders)


def open_text_folder(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over the text files below a folder."""
    name = asked.named(path)
    owner = f"source {name!r}"
    asked.refuse("columns", "labels", "text", of="text folders")
    root, split = split_folder(path, ENDINGS, asked, owner)
    found, other = listed(root, ENDINGS)
    labels, empty = folder_labels(found, root, asked, owner, "texts")
    if empty and asked.classes is None:
        raise DataError(f"class folder {empty[0]!r} of {owner} holds no text; remove it or fill it.")
    prefix = "" if split is None else f"{root.relative_to(path).as_posix()}/"
    origin: dict[str, Any] = {"path": str(path), "labels": None if labels is None else "folders"}
    origin |= {"split": split} if split else {}
    origin |= {"other_files": other} if other else {}
    origin |= {} if asked.encoding is None else {ORIGIN: asked.encoding}
    files = TextFiles(str(root.resolve()), tuple(found), asked.encoding)
    return assemble(
        asked,
        name,
        Pieces(
            adapter="text folder",
            count=len(found),
            target=None if labels is None else np.array(labels, dtype=object),
            own_ids=np.array([prefix + item.path for item in found], dtype=np.str_),
            ids_from="paths",
            origin=origin,
            stamps=FileStamps(
                tuple((str(Path(files.root, item.path)), item.size, item.changed) for item in found), asked.encoding
            ),
            **text_pieces(files, len(found), owner, (files.root, files_digest(found), asked.encoding)),
        ),
    )


@dataclass(frozen=True)
class TextFiles:
    """Reads files below a folder."""

    root: str
    files: tuple[FoundFile, ...]
    encoding: str | None = None

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        out = np.empty(len(positions), dtype=object)
        for place, position in enumerate(positions.tolist()):
            name, *stamp = self.files[position]
            path = Path(self.root, name)
            unchanged(str(path), (stamp[0], stamp[1]))
            try:
                out[place] = decoded(path.read_bytes(), self.encoding)
            except UnicodeError as error:
                said = not_utf8() if self.encoding is None else f"is not {self.encoding}: {reason(error)}"
                raise DataError(f"{path} {said}.") from None
            except OSError as error:
                raise DataError(f"{path} cannot be read: {reason(error)}.") from None
        return out
