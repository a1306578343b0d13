"""npz files, read without pickle.

Keys are recognised by their words: one for the inputs (x, data, images, features, inputs, or arr_0), one for the
labels (y, label, labels, target, targets, or arr_1), and optionally a split: `X`, `x_train`, `train_images`,
`test_labels`. `labels=` names another key.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, UnknownNameError, reason
from ..core.parameter_names import of
from .arrays import array_pieces, canonical
from .assembly import OpenRequest, assemble
from .group_and_time import named_beside
from .memory import Reloaded, stamp_of
from .splits import choose, split_named, without_splits

__all__ = ["UNREADABLE", "array_keys", "is_inputs", "open_npz", "read_array", "split_of_key", "why_unreadable"]

_INPUTS = {"x", "data", "image", "images", "features", "inputs", "arr0"}
_LABELS = {"y", "label", "labels", "target", "targets", "arr1"}
# What zipfile and numpy raise for damaged, encrypted or oddly compressed arrays.
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    RuntimeError,  # NotImplementedError too: a compression method that zipfile does not know
    ArithmeticError,
    MemoryError,
    SyntaxError,
    TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def open_npz(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over the arrays of an npz file."""
    name = asked.named(path)
    owner = f"source {name!r}"
    asked.refuse("columns", of="npz files")
    where = str(path.resolve())
    inputs, labels, split = array_keys(_names(path), asked, owner)
    reader = Reloaded(load_inputs, (where, inputs), ((where, stamp_of(where)),))
    values = reader.values
    raw = None if labels is None or asked.task == "unlabelled" else read_array(path, labels)
    kind = canonical(values[:1], owner)[1]
    origin = {"path": str(path), "labels": labels, **({"split": split} if split else {})}
    keys = _names(path) if inputs else []
    beside: dict[str, Any] = {
        word: read_array(path, key) for word, key in named_beside(asked, keys, owner, labels).items()
    }
    return assemble(asked, name, replace(array_pieces("npz", reader, values, kind, raw, origin), **beside))


def load_inputs(path: str, key: str) -> NDArray[Any]:
    """Read the inputs under a key, as a Source expects them."""
    return canonical(read_array(Path(path), key), f"source {Path(path).name!r}")[0]


def read_array(path: Path, key: str) -> NDArray[Any]:
    """Read one array; `allow_pickle=False` rejects files that would run code."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return np.asarray(archive[key])
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read at {key!r}: {why_unreadable(error)}.") from None


def why_unreadable(error: Exception) -> str:
    """Say why numpy could not read an array; files that need pickle are the usual case."""
    objects = any(word in str(error).lower() for word in ("pickle", "object"))
    return "it holds Python objects, which winnow never unpickles" if objects else reason(error)


def _names(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read as npz: {reason(error)}.") from None


def is_inputs(key: str) -> bool:
    """Whether a key or file name is one of inputs."""
    return _understood(key)[0] in _INPUTS


def array_keys(names: list[str], asked: OpenRequest, owner: str) -> tuple[str, str | None, str | None]:
    """Return the keys of the inputs and of the labels, and their split."""
    parts = {key: _understood(key) for key in names}
    inputs = {split: key for key, (word, split) in parts.items() if word in _INPUTS}
    if asked.label_column is not None and asked.label_column not in names:
        raise UnknownNameError.of(f"key in {of('labels', 'wn.open')} for {owner}:", asked.label_column, names)
    if not inputs:
        raise DataError(
            f"{owner} has no inputs: none of its keys ({', '.join(names)}) is called X, data, images, "
            "x_train or similar."
        )
    divided = [split for split in inputs if split is not None]
    if divided:
        split = choose(divided, asked.split, owner)
    else:
        without_splits(asked.split, owner)
        split = None
    found = [key for key, (word, which) in parts.items() if word in _LABELS and which == split]
    return inputs[split], asked.label_column or (found[0] if found else None), split


def split_of_key(key: str) -> str | None:
    """Return the split that a key belongs to, if any."""
    return _understood(key)[1]


def _understood(key: str) -> tuple[str, str | None]:
    """Return the word of a key without its split, and the split.

    >>> _understood("x_train"), _understood("test_labels"), _understood("arr_0")
    (('x', 'train'), ('labels', 'test'), ('arr0', None))
    """
    words = [word for word in re.split(r"[_\-. ]+", key.lower()) if word]
    splits = [split for word in words if (split := split_named(word))]
    return "".join(word for word in words if not split_named(word)), splits[0] if splits else None
