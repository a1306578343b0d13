"""Kept rows as npz and npy files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .column_layout import OWN
from .kept_rows import KeptRows
from .npz import read_array, split_of_key

__all__ = ["write_npy", "write_npz"]

FIRST = (1980, 1, 1, 0, 0, 0)  # the time of every member, so that bytes depend on content only


def write_npz(kept: KeptRows, path: Path) -> None:
    """Write arrays by key: those of an npz file under their own keys, otherwise X, y and classes."""
    arrays = _own_arrays(kept) if kept.adapter == "npz" and kept.path.suffix == ".npz" else _made_arrays(kept, path)
    if kept.columns.weight is not None:
        arrays[f"{OWN}weight"] = kept.columns.weight
    if kept.columns.soft is not None:
        arrays |= {f"{OWN}soft": kept.columns.soft, f"{OWN}classes": np.array(kept.columns.classes, dtype=np.str_)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, values in arrays.items():
            out = io.BytesIO()
            np.lib.format.write_array(out, np.ascontiguousarray(values), allow_pickle=False)
            member = zipfile.ZipInfo(f"{key}.npy", FIRST)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, out.getvalue())


def write_npy(kept: KeptRows, path: Path) -> None:
    """Write the inputs alone as one array."""
    if kept.columns or kept.source.labels is not None:
        what = "labels" if kept.source.labels is not None else "weights"
        raise InputError(f"path of Subset.export must end in .npz to hold {what} too; got {path.name}.")
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(_inputs(kept, path)), allow_pickle=False)


def _own_arrays(kept: KeptRows) -> dict[str, NDArray[Any]]:
    """The arrays of the opened split, cut to the kept rows if they have a row per example."""
    with zipfile.ZipFile(kept.path) as archive:
        keys = [name.removesuffix(".npy") for name in archive.namelist()]
    split = kept.source.origin.get("split")
    arrays = {}
    for key in keys:
        if not key.startswith(OWN) and split_of_key(key) in (split, None):
            values = read_array(kept.path, key)
            arrays[key] = values[kept.where] if values.ndim and len(values) == len(kept.source) else values
    return arrays


def _made_arrays(kept: KeptRows, path: Path) -> dict[str, NDArray[Any]]:
    arrays = {"X": _inputs(kept, path)}
    return arrays if kept.labels is None else {**arrays, "y": kept.labels}


def _inputs(kept: KeptRows, path: Path) -> NDArray[Any]:
    """The inputs as the user has them: an array in memory or in a file; otherwise as the source reads them."""
    if kept.source.kind == "text":
        raise InputError(f"path of Subset.export must end in .csv, .jsonl or .parquet for texts; got {path.name}.")
    given = kept.what[0] if isinstance(kept.what, tuple) else kept.what
    if isinstance(given, np.ndarray):
        return np.asarray(given[kept.where])
    if kept.adapter == "npy" and kept.path.is_file():
        return np.asarray(np.load(kept.path, mmap_mode="r", allow_pickle=False)[kept.where])
    return kept.source.read(kept.where)
