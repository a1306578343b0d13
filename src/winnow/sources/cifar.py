"""CIFAR-10 and CIFAR-100 as their authors ship them: python batches and binary batches.

| folder | files |
|---|---|
| CIFAR-10, python | `data_batch_1` .. `data_batch_5`, `test_batch`, `batches.meta` |
| CIFAR-10, binary | the same with `.bin`, names in `batches.meta.txt` |
| CIFAR-100, python | `train`, `test`, `meta` |
| CIFAR-100, binary | `train.bin`, `test.bin`, names in `fine_label_names.txt`, `coarse_label_names.txt` |

A binary record is one label byte (CIFAR-100: coarse, then fine) and 3072 bytes, red, green, blue. CIFAR-100's
labels are the fine ones; `labels="coarse"` selects the others. Python batches are pickles; `batch_pickles` explains
how they are read without running anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core import checks
from ..core.errors import DataError, InputError
from ..core.parameter_names import of
from .assembly import OpenRequest, Pieces, assemble
from .batch_pickles import read_batch
from .memory import Reloaded, stamp_of
from .splits import choose

__all__ = ["cifar_layout", "open_cifar"]

_FOLDERS = ("cifar-10-batches-py", "cifar-10-batches-bin", "cifar-100-python", "cifar-100-binary")
_PIXELS = 3072


@dataclass(frozen=True)
class _Layout:
    folder: Path
    hundred: bool
    binary: bool
    splits: dict[str, list[Path]]


def cifar_layout(path: Path) -> _Layout | None:
    """Find out which of the four layouts a folder (or one inside it) has; None if none."""
    for folder in (path, *(path / name for name in _FOLDERS)):
        for ending in ("", ".bin"):
            train = sorted(folder.glob(f"data_batch_[0-9]{ending}"))
            test = folder / f"test_batch{ending}"
            splits = {"train": train, "test": [test] if test.is_file() else []}
            if any(splits.values()):
                return _Layout(folder, False, bool(ending), {k: v for k, v in splits.items() if v})
            named = (folder / "meta").is_file() if not ending else (folder / "fine_label_names.txt").is_file()
            hundred = {
                word: [folder / f"{word}{ending}"]
                for word in ("train", "test")
                if (folder / f"{word}{ending}").is_file()
            }
            if named and hundred:
                return _Layout(folder, True, bool(ending), hundred)
    return None


def open_cifar(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a folder of CIFAR batches."""
    layout = cifar_layout(path)
    if layout is None:
        raise DataError(f"{path} holds no CIFAR batches.")
    name = asked.named(path)
    asked.refuse("columns", of="CIFAR batches")
    which = asked.labels
    if which is not None:
        if not layout.hundred:
            raise InputError(f"{of('labels', 'wn.open')} does not apply to CIFAR-10 batches; leave it out.")
        which = checks.choice("labels", "wn.open for CIFAR-100", which, ("fine", "coarse"))
    split = choose(layout.splits, asked.split, f"source {name!r}")
    files = tuple(str(file.resolve()) for file in layout.splits[split])
    arguments = (files, layout.binary, layout.hundred)
    reader = Reloaded(load_images, arguments, tuple((file, stamp_of(file)) for file in files))
    values = reader.values
    labels = np.concatenate([_labels(Path(file), layout, which or "fine") for file in files])
    return assemble(
        asked,
        name,
        Pieces(
            adapter="cifar",
            read=reader,
            count=len(values),
            shape=values.shape[1:],
            kind="image",
            target=labels,
            class_names=_class_names(layout, which or "fine"),
            values=values,
            origin={
                "path": str(layout.folder),
                "labels": which or ("fine" if layout.hundred else "labels"),
                "split": split,
            },
        ),
    )


def load_images(files: tuple[str, ...], binary: bool, hundred: bool) -> NDArray[np.uint8]:
    """Read the images of some batches, n x 3 x 32 x 32."""
    parts = []
    for file in files:
        rows = _records(Path(file), hundred)[:, 1 + hundred :] if binary else read_batch(Path(file)).get("data")
        if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != _PIXELS:
            raise DataError(f"{file} is not a CIFAR batch: it has no rows of {_PIXELS} bytes.")
        parts.append(rows)
    return np.concatenate(parts).reshape(-1, 3, 32, 32)


def _records(path: Path, hundred: bool) -> NDArray[np.uint8]:
    data = np.fromfile(path, dtype=np.uint8)
    width = _PIXELS + 1 + hundred
    if data.size == 0 or data.size % width:
        raise DataError(f"{path} is damaged: {data.size} bytes are not a whole number of {width}-byte records.")
    return data.reshape(-1, width)


def _labels(path: Path, layout: _Layout, which: str) -> NDArray[np.int64]:
    if layout.binary:
        column = 1 if layout.hundred and which == "fine" else 0
        return _records(path, layout.hundred)[:, column].astype(np.int64)
    key = f"{which}_labels" if layout.hundred else "labels"
    found: Any = read_batch(path).get(key)
    if found is None:
        raise DataError(f"{path} is not a CIFAR batch: it has no {key!r}.")
    return np.asarray(found, dtype=np.int64)


def _class_names(layout: _Layout, which: str) -> tuple[str, ...]:
    """Names from the meta file; without one, the class numbers."""
    if layout.binary:
        meta = layout.folder / (f"{which}_label_names.txt" if layout.hundred else "batches.meta.txt")
        return tuple(meta.read_text().split()) if meta.is_file() else ()
    meta = layout.folder / ("meta" if layout.hundred else "batches.meta")
    key = f"{which}_label_names" if layout.hundred else "label_names"
    names = read_batch(meta).get(key, ()) if meta.is_file() else ()
    return tuple(name.decode("latin-1") if isinstance(name, bytes) else str(name) for name in names)
