"""export: write what a subset keeps in the format that the data came in, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..artefacts.subset import Subset
from ..core import checks
from ..core.errors import InputError
from ..core.files import atomic, atomic_folder
from .exported_arrays import write_npy, write_npz
from .exported_files import OF_FOLDERS, write_folder, write_tar
from .exported_tables import framed, write_csv, write_hf, write_jsonl, write_parquet
from .kept_rows import KeptRows, kept_rows

__all__ = ["FORMATS", "export"]

OWNER = "Subset.export"
BY_ENDING = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".tar": "webdataset",
}
FOLDERS: dict[str, Callable[[KeptRows, Path, bool], None]] = {
    "folder": write_folder,
    "hf": lambda kept, path, copy: write_hf(kept, path),
}
FILES: dict[str, Callable[[KeptRows, Path, bool], None]] = {  # the last argument: whether to zip
    "csv": lambda kept, path, zipped: write_csv(kept, path, ",", zipped),
    "tsv": lambda kept, path, zipped: write_csv(kept, path, "\t", zipped),
    "jsonl": write_jsonl,
    "parquet": lambda kept, path, zipped: write_parquet(kept, path),
    "npz": lambda kept, path, zipped: write_npz(kept, path),
    "npy": lambda kept, path, zipped: write_npy(kept, path),
    "webdataset": lambda kept, path, zipped: write_tar(kept, path),
}
FORMATS = (*FOLDERS, *FILES)


def export(
    subset: Subset,
    path: str | Path | None,
    what: Any,
    format: str | None = None,
    copy: bool = False,
    opening: Mapping[str, Any] | None = None,
) -> Any:
    """Write the kept rows of a data set; see `Subset.export`."""
    if path is None:
        return framed(kept_rows(subset, what, OWNER, opening or {}))
    if not isinstance(path, str | Path):
        raise InputError(f"path of {OWNER} must be a file or a folder; got {type(path).__name__}.")
    if not isinstance(copy, bool):
        raise InputError(f"copy of {OWNER} must be True or False; got {copy!r}.")
    kept = kept_rows(subset, what, OWNER, opening or {})
    target = Path(path)
    word = _format(target, kept) if format is None else checks.choice("format", OWNER, format, FORMATS)
    _refuse_own_data(target, kept)
    if word in FOLDERS:
        with atomic_folder(target) as part:
            FOLDERS[word](kept, part, copy)
    else:
        with atomic(target) as part:
            FILES[word](kept, part, target.suffix == ".gz")
    return target


def _format(path: Path, kept: KeptRows) -> str:
    """The format that the ending of a path stands for; without an ending, that of the data if it is a folder."""
    name = path.name.lower().removesuffix(".gz")
    found = next((word for ending, word in BY_ENDING.items() if name.endswith(ending)), None)
    if found is not None and (found in ("csv", "tsv", "jsonl") or not path.name.lower().endswith(".gz")):
        return found
    if kept.adapter in OF_FOLDERS and not path.suffix:
        return "folder"
    if kept.adapter == "hf" and not path.suffix:
        return "hf"
    raise InputError(
        f"path of {OWNER} must end in {', '.join(BY_ENDING)}, or format= must be one of {', '.join(FORMATS)}; got "
        f"{path.name}."
    )


def _refuse_own_data(path: Path, kept: KeptRows) -> None:
    """Raise if the data themselves would be overwritten, or get a copy of themselves inside."""
    if "path" not in kept.source.origin:
        return
    given, wanted = kept.path.resolve(), path.resolve()
    if wanted == given or (given.is_dir() and wanted.is_relative_to(given)):
        raise InputError(f"path of {OWNER} must not be the data themselves or lie within them; got {path}.")
