"""Which adapter opens what: a Source, a built-in name, a path, a URL or a value in memory.

Paths are recognised by their contents, without configuration. Any package may register more adapters; they are asked
in the order of their registration.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from ..artefacts.source import Source
from ..core import registry
from ..core.errors import DataError, InputError, NotFoundError, WinnowError, reason
from ..core.parameter_names import of
from ..core.registration import Adapter
from ..core.remote import is_url, url_of
from . import builtin
from .assembly import OpenRequest, renamed
from .own_adapters import apart
from .splits import without_splits
from .urls import open_url

__all__ = ["opened"]

PAGES = ("http:", "https:", "ftp:")  # not stores of data: their files have no reliable version
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib")


def opened(what: Any, asked: OpenRequest) -> Source:
    """Make a Source of whatever was given."""
    if isinstance(what, Source):
        return _again(what, asked)
    if isinstance(what, str) and what in builtin.NAMES:
        return builtin.open_builtin(what, asked, _open_path)
    if isinstance(what, (str, os.PathLike)):
        return _open_text(what, asked)
    if isinstance(what, tuple) and len(what) != 2:
        raise InputError(f"{of('what', 'wn.open')} must be (X, y) if it is a tuple; got {len(what)} items.")
    return _open_values(what, asked)


def _again(source: Source, asked: OpenRequest) -> Source:
    without_splits(asked.split, f"source {source.name!r}")
    asked.refuse("labels", "task", "ids", "size", "columns", "drop", "text", of="a Source, which is open already")
    return renamed(source, asked)


def _open_values(what: Any, asked: OpenRequest) -> Source:
    """Whatever is in memory, by the first adapter that recognises it."""
    inputs, target = apart(what)
    for adapter in _adapters():
        if adapter.value is not None and adapter.value(inputs):
            return _by(adapter, what, asked)
    if isinstance(inputs, (dict, set, bytes)) or inputs is None:
        raise InputError(
            f"{of('what', 'wn.open')} must be a name, a path, arrays, a frame or a dataset; "
            f"got {type(inputs).__name__}."
        )
    if target is not None:
        raise InputError(f"X of wn.open must be an array or a frame when y is given; got {type(inputs).__name__}.")
    raise InputError(
        f"{of('what', 'wn.open')} must be a name, a path, arrays, a frame or a dataset with len() and "
        f"[position]; got {type(inputs).__name__}."
    )


def _open_text(what: str | os.PathLike[str], asked: OpenRequest) -> Source:
    """What lies at a path or a URL, or what an adapter makes of a text that is none."""
    try:
        if is_url(what) and not os.fspath(what).startswith(PAGES):
            return open_url(url_of(what), asked, _open_path)
        return _open_path(_existing(what), asked)
    except NotFoundError:
        for adapter in _adapters():
            if adapter.package != "winnow" and adapter.value is not None and adapter.value(what):
                return _by(adapter, what, asked)
        raise


def _adapters() -> list[Adapter]:
    return registry.listing("source")


def _by(adapter: Adapter, what: Any, asked: OpenRequest) -> Source:
    """A Source by one adapter."""
    source: Source = adapter.function(what, asked)
    return source


def _existing(what: str | os.PathLike[str]) -> Path:
    try:
        path = Path(what).expanduser()
        if path.exists():
            return path
    except (OSError, ValueError, RuntimeError):
        pass  # too long a name, a zero byte, an unknown home: no such file in any case
    if "://" in str(what):
        raise NotFoundError(f"{what} is not on this machine; winnow downloads nothing, so fetch it first.")
    near = difflib.get_close_matches(str(what), builtin.NAMES, n=1, cutoff=0.6)
    hint = f" (nearest: {near[0]!r})" if near else ""
    raise NotFoundError(
        f"there is no file or folder {str(what)!r}, and no built-in data set of that name{hint}; "
        f"built-in: {', '.join(builtin.NAMES)}."
    )


def _open_path(path: Path, asked: OpenRequest) -> Source:
    """Open a path with the adapter that recognises it."""
    if not isinstance(asked.labels, (str, type(None))) and not asked.label_columns:
        raise InputError(
            f"{of('labels', 'wn.open')} must name a column or key of {path}; got {type(asked.labels).__name__}."
        )
    try:
        if path.is_dir():
            return _open_folder(path, asked)
        if not path.is_file():
            raise DataError(f"{path} must be a file or a folder; it is a FIFO, a socket or a device.")
        lower = path.name.lower()
        for adapter in _adapters():
            if adapter.endings and lower.endswith(adapter.endings):
                return _by(adapter, path, asked)
    except WinnowError:
        raise
    except PermissionError as error:
        raise DataError(f"{error.filename or path} cannot be read: permission denied.") from None
    except Exception as error:
        unreadable = isinstance(error, (OSError, UnicodeDecodeError)) or type(error).__module__.startswith("pyarrow")
        if unreadable:  # damaged behind its header
            raise DataError(f"{path} cannot be read: {reason(error)}.") from None
        raise
    if lower.endswith(_PICKLES):
        raise DataError(f"{path} is a pickle, which can run code; winnow loads none, so save the arrays as npz.")
    raise DataError(f"{path} has an extension that winnow does not read; it reads {_reads()}.")


def _open_folder(path: Path, asked: OpenRequest) -> Source:
    for adapter in _adapters():
        if adapter.folder is not None and adapter.folder(path):
            return _by(adapter, path, asked)
    names = sorted(item.name for item in path.iterdir())
    seen = f"it holds {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}" if names else "it is empty"
    raise DataError(f"folder {path} holds nothing winnow reads ({_reads()}); {seen}.")


def _reads() -> str:
    """What lies at a path and can be opened, in words."""
    *most, last = (adapter.reads for adapter in _adapters() if adapter.endings or adapter.folder)
    return f"{', '.join(most)} and {last}"
