"""The adapters of winnow itself: what opens which files, folders and values.

Each is registered with how it recognises what it opens, and adapters are asked in the order of their registration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..artefacts.source import Source
from ..core import registry
from ..core.errors import InputError
from . import cifar, hf, idx, image_folder, npy, npz, parquet, table_file, text_folder, webdataset
from .arrays import open_arrays
from .assembly import OpenRequest
from .frames import is_frame, open_frame
from .splits import walked
from .stream_cache import is_stream, open_stream
from .texts import are_texts, open_texts
from .torch_dataset import is_map_style, open_torch

__all__ = ["SIDE_FILE", "apart"]

SIDE_FILE = "winnow.csv"  # weights and soft targets beside the files of an exported folder


def _holds(endings: tuple[str, ...], deep: bool = True) -> Callable[[Path], bool]:
    """Whether a folder holds a file with one of these endings."""

    def found(path: Path) -> bool:
        if deep:
            names: Iterable[str] = (name for _, some in walked(path) for name in some)
        else:
            names = (item.name for item in path.iterdir() if not item.name.startswith("."))
        return any(name.lower().endswith(endings) and name != SIDE_FILE for name in names)

    return found


# The order counts for folders: the more special first.
registry.source(name="hf_folder", reads="saved HF data sets", folder=hf.is_saved)(hf.open_saved)
registry.source(name="cifar", reads="CIFAR batches", folder=cifar.cifar_layout)(cifar.open_cifar)
registry.source(name="idx", reads="idx files", endings=("-ubyte", "-ubyte.gz"), folder=idx.idx_files)(idx.open_idx)
registry.source(name="npz", reads="npz", endings=(".npz",))(npz.open_npz)
registry.source(name="npy", reads="npy", endings=(".npy",), folder=npy.has_arrays)(npy.open_npy)
registry.source(name="webdataset", reads="tar shards", endings=webdataset.ENDINGS, folder=_holds(webdataset.ENDINGS))(
    webdataset.open_webdataset
)
registry.source(name="parquet", reads="parquet", endings=parquet.ENDINGS, folder=_holds(parquet.ENDINGS))(
    parquet.open_parquet
)
registry.source(name="image_folder", reads="folders of images", folder=image_folder.has_images)(
    image_folder.open_image_folder
)
registry.source(name="csv", reads="csv and tsv", endings=table_file.CSV, folder=_holds(table_file.CSV, deep=False))(
    table_file.open_csv
)
registry.source(name="jsonl", reads="jsonl", endings=table_file.JSONL, folder=_holds(table_file.JSONL, deep=False))(
    table_file.open_jsonl
)
registry.source(name="text_folder", reads="folders of text files", folder=text_folder.has_texts)(
    text_folder.open_text_folder
)


def _homes(value: Any) -> set[str]:
    """The libraries a value's class comes from, told without importing any."""
    return {kind.__module__.split(".")[0] for kind in type(value).__mro__}


@registry.source(name="hf", reads="HF data sets", value=lambda value: "datasets" in _homes(value))
def _hf(what: Any, asked: OpenRequest) -> Source:
    """A Dataset of HF datasets, or one split of a DatasetDict."""
    return hf.open_hf(apart(what)[0], asked)


@registry.source(
    name="frame",
    reads="data frames",
    value=lambda value: _homes(value) & {"pandas", "polars", "pyarrow"} and is_frame(value),
)
def _frame(what: Any, asked: OpenRequest) -> Source:
    """A pandas, polars or arrow table, with the labels in a column or beside it."""
    return open_frame(*apart(what), asked)


@registry.source(name="texts", reads="lists of strings", value=are_texts)
def _texts(what: Any, asked: OpenRequest) -> Source:
    """Strings, or pairs of strings, with the labels beside them."""
    return open_texts(*apart(what), asked)


@registry.source(
    name="arrays",
    reads="arrays",
    value=lambda value: isinstance(value, list) or any(hasattr(value, a) for a in ("__array__", "detach", "tocsr")),
)
def _arrays(what: Any, asked: OpenRequest) -> Source:
    """Arrays, tensors, sparse matrices or lists, with the labels beside them."""
    return open_arrays(*apart(what), asked)


@registry.source(name="stream", reads="torch iterable data sets", value=is_stream)
def _stream(what: Any, asked: OpenRequest) -> Source:
    """A torch IterableDataset, read once."""
    return open_stream(_without_targets(what), asked)


@registry.source(
    name="torch",
    reads="torch data sets",
    value=lambda value: (
        not isinstance(value, (dict, set, bytes, str)) and (is_map_style(value) or "torch" in _homes(value))
    ),
)
def _torch(what: Any, asked: OpenRequest) -> Source:
    """A torch map-style dataset: anything with len() and [position]."""
    return open_torch(_without_targets(what), asked)


def _without_targets(what: Any) -> Any:
    """Return a dataset, which holds its targets itself."""
    inputs, target = apart(what)
    if target is not None:
        raise InputError(f"X of wn.open must be an array or a frame when y is given; got {type(inputs).__name__}.")
    return inputs


def apart(what: Any) -> tuple[Any, Any]:
    """Inputs and targets of what was given."""
    return what if isinstance(what, tuple) else (what, None)
