"""Data at a URL: parquet is read where it is, by row groups; other files are fetched once and then opened as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ..artefacts.source import Source
from ..core.errors import NotFoundError
from ..core.remote import fetched, remote_files
from .assembly import OpenRequest
from .parquet import ENDINGS, open_shards
from .splits import shards_of_split, without_splits

__all__ = ["open_url"]


def open_url(url: str, asked: OpenRequest, open_path: Callable[[Path, OpenRequest], Source]) -> Source:
    """Make a Source over what is at a URL.

    Parameters
    ----------
    url
        A file or a folder; the part after the last slash names the source.
    asked
        How to open it.
    open_path
        Opens a local path.
    """
    name = asked.name or PurePosixPath(url).stem
    files = remote_files(url, ENDINGS)
    if files:
        owner = f"source {name!r}"
        if list(files.values()) == [url]:
            without_splits(asked.split, owner)
            shards, split = [url], None
        else:
            shards, split = shards_of_split(files, asked.split, owner)
        return open_shards(url, shards, split, name, asked)
    if not remote_files(url):
        raise NotFoundError(f"there is nothing at {url}.")
    source = open_path(fetched(url), replace(asked, name=name))
    return replace(source, origin={**source.origin, "url": url})
