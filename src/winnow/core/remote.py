"""Data and run directories at a URL, such as `s3://bucket/data`. This is the only file that imports fsspec.

Parquet is read where it is, a row group at a time (`remote_file`). Other files are fetched once into the user's cache
folder, under their URL and version (`fetched`).

A run at a URL is worked on in a local folder (`mirrored`): what is there is fetched first, and each finished step is
copied back at once, its files before its record, so that a run killed at any moment can be resumed from the URL, on any
machine. An object store replaces a file in one go, as a rename does here. It has no locks: two processes of one
machine exclude each other by the lock of the local folder, two machines do not. They would write the same bytes for the
same request; another request is refused when the run is opened.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import DataError, MissingDependencyError, NotFoundError, StoreError, WinnowError, reason
from .files import PART, atomic, file_digest, fingerprint
from .unfinished import UNFINISHED

__all__ = [
    "copied_back",
    "fetched",
    "holds_run",
    "is_url",
    "mirrored",
    "released",
    "remote_file",
    "remote_files",
    "remote_stamp",
    "url_of",
]

SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/+")  # a Path has lost one of the two slashes
VERSION = ("ETag", "etag", "e_tag", "LastModified", "last_modified", "mtime", "created", "updated", "blob_id", "sha256")
LOCAL_ONLY = {"lock"}  # files of a run that mean nothing elsewhere
_mirrors: dict[Path, Mirror] = {}


def is_url(value: object) -> bool:
    """Whether a text or path is a URL. A path has one slash where a URL has two; `hf:/folder` is no URL.

    >>> is_url("s3://bucket/rows"), is_url(Path("s3://bucket")), is_url("C:/rows"), is_url("hf:/models/bert")
    (True, True, False, False)
    """
    if isinstance(value, str) and "://" not in value:
        return False
    return isinstance(value, str | os.PathLike) and SCHEME.match(os.fspath(value)) is not None


def url_of(value: str | os.PathLike[str]) -> str:
    """Return a URL with both slashes and no slash at its end.

    >>> url_of(Path("s3://bucket/rows/")), url_of("file:///rows")
    ('s3://bucket/rows', 'file:///rows')
    """
    return SCHEME.sub(lambda found: f"{found[1]}://{'/' * (found[1] == 'file')}", os.fspath(value)).rstrip("/")


@contextmanager
def _reaching(url: str, what: str) -> Iterator[None]:
    """Turn whatever a file system may raise into one sentence."""
    try:
        yield
    except WinnowError:
        raise
    except FileNotFoundError:
        raise NotFoundError(f"there is nothing at {url}.") from None
    except Exception as error:  # every store has errors of its own
        kind = StoreError if what == "written" else DataError
        raise kind(f"{url} cannot be {what}: {reason(error)}.") from None


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise MissingDependencyError.of("fsspec", "remote", f"{url} is a URL, which") from None
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(url)
        return found
    except ImportError as error:
        raise MissingDependencyError(
            f"{url} needs another package ({reason(error)}); pip install 'winnow-data[remote]' brings the one for s3."
        ) from None
    except ValueError as error:
        raise DataError(f"{url} cannot be read: {reason(error)}.") from None


def remote_stamp(url: str) -> tuple[int, int]:
    """Return size and version of a file; the version is negative, so that it is never taken for a time."""
    with _reaching(url, "read"):
        system, path = _system(url)
        system.invalidate_cache()
        about = system.info(path)
    version = fingerprint({name: str(about[name]) for name in VERSION if name in about})
    return int(about["size"]), -int(version[:15], 16) - 1


def remote_file(url: str) -> Any:
    """Open a file for reading by ranges: only what is asked for is fetched."""
    with _reaching(url, "read"):
        system, path = _system(url)
        return system.open(path, "rb", cache_type="none")


def remote_files(url: str, endings: tuple[str, ...] = ("",)) -> dict[str, str]:
    """Return the URLs of a file, or of all files below a folder, by their path in it; sorted, hidden ones left out."""
    with _reaching(url, "read"):
        system, path = _system(url)
        system.invalidate_cache()
        if system.isfile(path):
            return {Path(path).name: url} if url.lower().endswith(endings) else {}
        found = system.find(path)
    root = path.rstrip("/") + "/"
    inside = {name.removeprefix(root): name for name in found if name.startswith(root)}
    shown = (name for name in sorted(inside) if not any(part.startswith((".", "_")) for part in name.split("/")))
    return {name: f"{url}/{name}" for name in shown if name.lower().endswith(endings)}


def fetched(url: str) -> Path:
    """Return a local copy of a file or folder, fetched once for each version of it."""
    files = remote_files(url)
    if not files:
        raise NotFoundError(f"there is nothing at {url}.")
    stamps = {name: remote_stamp(where) for name, where in files.items()}
    one = list(files.values()) == [url]
    folder = _cache("remote") / fingerprint(url, stamps)[:20]
    for name, where in files.items():
        target = folder / Path(url).name / ("" if one else name)
        if not target.exists():
            _download(where, target)
    return folder / Path(url).name


def _download(url: str, target: Path) -> None:
    if any(part == ".." for part in target.parts):
        raise DataError(f"{url} has a name that leaves its folder.")
    with _reaching(url, "read"):
        system, path = _system(url)
        with atomic(target) as part:
            system.get_file(path, str(part))


def _cache(kind: str) -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winnow" / kind


@dataclass
class Mirror:
    """A run at a URL and the local folder where it is worked on."""

    url: str
    folder: Path
    digests: dict[str, str] = field(default_factory=dict)  # of what is the same at both places

    def pull(self) -> None:
        """Fetch what is at the URL and differs here."""
        with _reaching(self.url, "read"):
            system, path = _system(self.url)
            system.invalidate_cache()
            try:
                found = system.find(path, detail=True)
            except FileNotFoundError:
                found = {}
        root = path.rstrip("/") + "/"
        for name, about in found.items():
            inside = name.removeprefix(root)
            if not name.startswith(root) or inside in LOCAL_ONLY or inside.endswith(PART):
                continue
            here = self.folder / inside
            if not here.is_file() or here.stat().st_size != about["size"] or _etag(about) != _md5(here):
                _download(f"{self.url}/{inside}", here)
            self.digests[inside] = file_digest(here)

    def push(self, files: Iterable[Path]) -> None:
        """Copy files to the URL, in this order, if they changed."""
        for file in files:
            inside = os.path.relpath(file, self.folder)
            if inside.startswith("..") or inside in LOCAL_ONLY or inside.endswith(PART) or not file.is_file():
                continue
            digest = file_digest(file)
            if self.digests.get(inside) == digest:
                continue
            where = f"{self.url}/{inside}"
            with _reaching(where, "written"):
                system, path = _system(where)
                system.makedirs(system._parent(path), exist_ok=True)
                system.put_file(str(file), path)
            self.digests[inside] = digest

    def push_all(self) -> None:
        """Copy everything that changed, records last; not the checkpoints of what is under way here."""
        found = (item for item in self.folder.rglob("*") if item.is_file())
        files = sorted(item for item in found if item.relative_to(self.folder).parts[0] != UNFINISHED)
        self.push(sorted(files, key=lambda file: "steps" in file.relative_to(self.folder).parts))


def _etag(about: dict[str, Any]) -> str:
    return str(about.get("ETag", "")).strip('"')


def _md5(path: Path) -> str:
    """The version that S3 gives a file that was written in one piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def mirrored(url: str | os.PathLike[str]) -> Path:
    """Return the local folder of a run at a URL, with what is there; the same folder for the same URL."""
    where = url_of(url)
    folder = _cache("runs") / f"{Path(where).name}-{fingerprint(where)[:12]}"
    if folder not in _mirrors:
        folder.mkdir(parents=True, exist_ok=True)
        mirror = Mirror(where, folder)
        if (folder / "run.json").exists() and not holds_run(where):
            _emptied(folder)  # the run was deleted there
        mirror.pull()
        _mirrors[folder] = mirror
    return folder


def _emptied(folder: Path) -> None:
    """Remove what a run left in its local folder, unless a process is at work there."""
    import fcntl

    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        for item in folder.iterdir():
            if item.name != "lock":
                shutil.rmtree(item) if item.is_dir() else item.unlink()


def holds_run(url: str) -> bool:
    """Whether a run is at a URL."""
    with _reaching(url, "read"):
        system, path = _system(url_of(url))
        return bool(system.exists(f"{path.rstrip('/')}/run.json"))


def copied_back(folder: Path, files: Iterable[Path] | None = None) -> None:
    """Copy files of a run to its URL, or everything that changed; nothing if the run is not at a URL."""
    mirror = _mirrors.get(folder)
    if mirror is not None:
        mirror.push_all() if files is None else mirror.push(files)


def released(folder: Path) -> None:
    """Copy everything back and forget the mirror, so that the next use fetches again."""
    copied_back(folder)
    _mirrors.pop(folder, None)
