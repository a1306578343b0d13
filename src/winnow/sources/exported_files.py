"""Kept examples as files: a folder with one subfolder per class, or a WebDataset tar.

Files of a folder are linked or copied under the names they have; images and texts that are in no file of their own are
written as PNG and as UTF-8 text. What a subset adds (weights, soft targets) is in `winnow.csv` beside the class
folders, or in a member `KEY.winnow.json` of a tar.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from ..core.errors import InputError
from ..core.files import file_name
from .assembly import OpenRequest
from .class_folders import listed, split_folder
from .image_folder import ENDINGS as IMAGES
from .kept_rows import KeptRows
from .own_adapters import SIDE_FILE
from .text_folder import ENDINGS as TEXTS

__all__ = ["OF_FOLDERS", "write_folder", "write_tar"]

OF_FOLDERS = {"image folder": IMAGES, "text folder": TEXTS}


def write_folder(kept: KeptRows, path: Path, copy: bool) -> None:
    """Write one file per example, in one subfolder per class; links, unless copies are wanted."""
    names = []
    for name, content in _files(kept):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif copy:
            shutil.copy2(content, file)
        else:
            _link(content, file)
        names.append(name)
    if kept.columns:
        extra = kept.columns.flat
        with (path / SIDE_FILE).open("w", newline="", encoding="utf-8") as file_:
            out = csv.writer(file_, lineterminator="\n")
            out.writerow(["path", *extra])
            out.writerows(zip(names, *extra.values(), strict=True))


def _link(given: Path, file: Path) -> None:
    """A hard link, which outlives the folder it points into; a symbolic one on another file system."""
    try:
        os.link(given, file)
    except OSError:
        file.symlink_to(given)


def _files(kept: KeptRows) -> Iterator[tuple[str, Path | bytes]]:
    """Yield the name of each kept example below a folder, and its file or its content."""
    endings = OF_FOLDERS.get(kept.adapter)
    if endings is not None:
        root, split = split_folder(kept.path, endings, OpenRequest(split=kept.source.origin.get("split")), "export")
        found = [item.path for item in listed(root, endings)[0]]
        inside = "" if split is None else f"{root.relative_to(kept.path).as_posix()}/"
        yield from ((inside + found[place], (root / found[place]).resolve()) for place in kept.where)
        return
    if kept.source.kind not in ("image", "text"):
        raise InputError(
            f"path of Subset.export must end in .npz, .csv, .jsonl or .parquet for a {kept.source.kind}; a folder is "
            "for images and texts."
        )
    classes = kept.class_names
    for place, (row, id) in enumerate(zip(kept.where, kept.ids.tolist(), strict=True)):
        folder = "" if classes is None else f"{file_name(classes[place])}/"
        ending, content = _content(kept, int(row))
        yield f"{folder}{file_name(str(id)).replace('/', '_')}{ending}", content


def _content(kept: KeptRows, row: int) -> tuple[str, bytes]:
    """One example as the bytes of a file, with its ending."""
    from PIL import Image

    source = kept.source
    if source.kind == "text" and source.read_texts is not None:
        return ".txt", str(source.read_texts(np.array([row]))[0]).encode()
    values = source.read(np.array([row]))[0]
    out = io.BytesIO()
    Image.fromarray(values[0] if len(values) == 1 else values.transpose(1, 2, 0)).save(out, "PNG")
    return ".png", out.getvalue()


def write_tar(kept: KeptRows, path: Path) -> None:
    """Write a WebDataset tar: per example, members with one key and different endings, in the order of the data."""
    extra = kept.columns.rows() if kept.columns else ({} for _ in kept.where)
    samples = _tar_samples(kept) if kept.adapter == "webdataset" else _file_samples(kept)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for (key, members), more in zip(samples, extra, strict=True):
            if more:
                members["winnow.json"] = json.dumps(more).encode()
            for ending, content in members.items():
                about = tarfile.TarInfo(f"{key}.{ending}")  # without times and owners, so that bytes depend on content
                about.size = len(content)
                tar.addfile(about, io.BytesIO(content))


def _file_samples(kept: KeptRows) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield the key of each example and the content of its members: the file itself and, with classes, `cls`."""
    numbers = kept.source.labels if kept.source.task == "classification" else None
    for row, (name, content) in zip(kept.where, _files(kept), strict=True):
        file = PurePosixPath(name)
        members = {file.suffix[1:].lower(): content if isinstance(content, bytes) else content.read_bytes()}
        if numbers is not None:
            members["cls"] = str(int(numbers[row])).encode()
        yield str(file.with_suffix("")).replace(".", "_"), members  # a key ends at its first dot


def _tar_samples(kept: KeptRows) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield the kept samples of tars: their keys are the ids."""
    wanted = set(map(str, kept.ids.tolist()))
    for file in sorted(kept.path.glob("*.tar")) if kept.path.is_dir() else [kept.path]:
        with tarfile.open(file) as tar:
            key, members = "", dict[str, bytes]()
            for item in tar:
                if not item.isfile():
                    continue
                folder, _, base = item.name.rpartition("/")
                stem, _, ending = base.partition(".")
                this = f"{folder}/{stem}" if folder else stem
                if this != key:
                    if key in wanted:
                        yield key, members
                    key, members = this, {}
                content = tar.extractfile(item)
                if this in wanted and content is not None and ending != "winnow.json":
                    members[ending] = content.read()
            if key in wanted:
                yield key, members
