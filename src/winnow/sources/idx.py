"""idx files: MNIST's format and file names (`train-images-idx3-ubyte`, `t10k-labels-idx1-ubyte`), gzipped or not.

The header is two zero bytes, a byte for the type, a byte for the number of dimensions d, then d big-endian 32-bit
sizes; the values follow, big-endian, last dimension fastest.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, reason
from .arrays import array_pieces, canonical
from .assembly import OpenRequest, assemble
from .memory import Reloaded, stamp_of
from .splits import choose, split_named

__all__ = ["idx_files", "open_idx", "read_idx"]

_NAME = re.compile(
    r"(?:.*[-_])?(train|t10k|test|valid|val)[-_](images|labels)[-_.]idx\d(?:-ubyte)?(?:\.gz)?$", re.IGNORECASE
)
_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def idx_files(folder: Path) -> dict[str, dict[str, Path]]:
    """Find the idx files of a folder, or of torchvision's `raw` below it: split -> images, labels."""
    found: dict[str, dict[str, Path]] = {}
    for place in (folder, folder / "raw"):
        for item in sorted(place.iterdir()) if place.is_dir() else ():
            match = _NAME.match(item.name)
            if match:
                split = split_named(match.group(1)) or match.group(1)
                found.setdefault(split, {}).setdefault(match.group(2).lower(), item)
        if found:
            break
    return found


def open_idx(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a folder of idx files, or over one file of images with its labels next to it."""
    asked.refuse("columns", "labels", of="idx files")
    folder = path if path.is_dir() else path.parent
    name = asked.named(folder.parent if folder.name == "raw" else folder)
    owner = f"source {name!r}"
    found = idx_files(folder)
    with_images = [word for word, files in found.items() if "images" in files]
    if path.is_file():
        with_images = [word for word in with_images if found[word]["images"] == path]
        if not with_images:
            raise DataError(
                f"{path} is not an idx file of images; open the one called *-images-idx3-ubyte, or its folder."
            )
    split = choose(with_images, asked.split or (with_images[0] if path.is_file() else None), owner)
    images, labels = found[split]["images"], found[split].get("labels")
    where = str(images.resolve())
    reader = Reloaded(load_inputs, (where,), ((where, stamp_of(where)),))
    values = reader.values
    raw = None if labels is None or asked.task == "unlabelled" else read_idx(labels)
    kind = canonical(values[:1], owner)[1]
    origin = {"path": str(images), "labels": None if labels is None else labels.name, "split": split}
    return assemble(asked, name, array_pieces("idx", reader, values, kind, raw, origin))


def load_inputs(path: str) -> NDArray[Any]:
    """Read the inputs of an idx file, as a Source expects them."""
    return canonical(read_idx(Path(path)), f"source {Path(path).name!r}")[0]


def read_idx(path: Path) -> NDArray[Any]:
    """Read the array in an idx file."""
    try:
        with path.open("rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {reason(error)}.") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES:
        raise DataError(f"{path} is not an idx file: it starts with {data[:4]!r}.")
    kind, dimensions = np.dtype(_TYPES[data[2]]), data[3]
    start = 4 + 4 * dimensions
    shape = tuple(int(size) for size in np.frombuffer(data[4:start][: (len(data[4:start]) // 4) * 4], dtype=">u4"))
    wanted = math.prod(shape) * kind.itemsize
    if len(shape) != dimensions or len(data) - start != wanted:
        raise DataError(
            f"{path} is damaged: its header says {wanted} bytes of shape {shape}, it has {max(len(data) - start, 0)}."
        )
    return np.frombuffer(data, dtype=kind, offset=start).reshape(shape)
