"""npy files as memory maps: one file of inputs, or a folder of `X.npy` and `y.npy`; nothing is unpickled.

Rows are read from the file when they are needed, so a file larger than memory can be opened; missing values are noticed
then. The names in a folder mean what the keys of an npz file mean: `X`, `y`, `x_train`, `test_labels`. `labels=` names
the file of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, NotFoundError
from ..core.parameter_names import of
from .arrays import canonical, column_names
from .assembly import OpenRequest, Pieces, assemble
from .memory import Stamp, stamp_of, unchanged
from .npz import UNREADABLE, array_keys, is_inputs, why_unreadable
from .splits import without_splits

__all__ = ["has_arrays", "mapped_pieces", "open_npy"]


def has_arrays(path: Path) -> bool:
    """Whether a folder holds an npy file of inputs."""
    return any(is_inputs(item.stem) for item in path.glob("*.npy"))


def open_npy(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a file of inputs, or over a folder with files of inputs and labels."""
    name = asked.named(path)
    owner = f"source {name!r}"
    asked.refuse("columns", of="npy files")
    split, file, labels = None, path, None
    if path.is_dir():
        found = {item.stem: item for item in sorted(path.glob("*.npy"))}
        inputs, key, split = array_keys(list(found), asked, owner)
        file, labels = found[inputs], None if key is None else found[key]
    else:
        without_splits(asked.split, owner)
        if asked.label_column is not None:
            labels = _beside(path, asked.label_column)
    raw = None if labels is None or asked.task == "unlabelled" else np.asarray(_mapped(labels))
    origin = {"path": str(file), "labels": None if raw is None else str(labels), **({"split": split} if split else {})}
    return assemble(asked, name, mapped_pieces("npy", file, raw, origin, owner))


def mapped_pieces(adapter: str, file: Path, target: Any, origin: dict[str, Any], owner: str) -> Pieces:
    """Return the pieces of a source whose inputs are the rows of one npy file."""
    where = str(file.resolve())
    reader = MappedRows(where, stamp_of(where), owner)
    values = _mapped(file)
    if values.ndim == 0 or not values.size:
        raise DataError(f"{file} must hold one row per example; it has shape {values.shape}.")
    first, kind = canonical(values[:1], owner)
    return Pieces(
        adapter=adapter,
        read=reader,
        count=len(values),
        shape=first.shape[1:],
        kind=kind,
        target=target,
        values=values,
        columns=column_names(first, kind),
        origin=origin,
    )


def _beside(path: Path, labels: str) -> Path:
    """The file that `labels=` names: a path, or a name in the folder of the inputs."""
    for file in (path.parent / labels, path.parent / f"{labels}.npy", Path(labels)):
        if file.is_file():
            return file
    raise NotFoundError(f"{of('labels', 'wn.open')} must name an npy file beside {path}; there is no {labels!r}.")


def _mapped(path: Path) -> NDArray[Any]:
    """A file as an array that is read when it is used; `allow_pickle=False` rejects files that would run code."""
    try:
        with np.errstate(over="raise"):  # of a size that no machine can hold
            return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {why_unreadable(error)}.") from None


@dataclass(frozen=True)
class MappedRows:
    """Reads rows of an npy file."""

    path: str
    stamp: Stamp
    owner: str

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        unchanged(self.path, self.stamp)
        values = _mapped(Path(self.path))
        asked = np.asarray(positions, dtype=np.int64)
        if not asked.size:
            return canonical(values[:1], self.owner)[0][:0]
        return canonical(np.asarray(values[asked]), self.owner)[0]
