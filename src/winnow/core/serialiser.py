"""How all artefacts are saved and loaded.

A frozen dataclass that inherits from `Saved` names its kind and its layout once, and gets `save` and `load`:

    @dataclass(frozen=True)
    class Result(Saved, kind="training", layout=Json()):
        iterations: int
        marks: tuple[Marks, ...]

A layout (module `layouts`) says which files there are and which fields are arrays in them. All other fields are
*entries*: JSON values, with null for NaN and infinity, rebuilt from the type hints when they are read. Nested
dataclasses, tuples, mappings and optional values are restored, and null becomes NaN if the hint is float. An entry may
be missing only if its field may be None, and an unknown entry raises an error, so that a file of another version is
never read in part.

No file is a pickle, files appear whole or not at all, and the same content gives the same bytes. So fields that hold
durations are named (`durations=`) and not written: a run keeps them in the record of the step (`timed`).
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

from .errors import StoreError, reason
from .files import plain

__all__ = [
    "Layout",
    "Saved",
    "Unexpected",
    "durations_of",
    "entries",
    "expecting",
    "fields_of",
    "filled",
    "optional",
    "timed",
]

A = TypeVar("A")


class Layout(Protocol):
    """How the fields of an artefact are stored in files."""

    def place(self, path: Path) -> Path:
        """Return the file that errors name, for the given path."""
        ...

    def write(self, made: Saved, path: Path) -> Path:
        """Write every field; return the path."""
        ...

    def read(self, kind: type[Saved], path: Path) -> dict[str, Any]:
        """Return the fields by name, as arguments of the class."""
        ...


class Saved:
    """Base class of saved artefacts: `class Subset(Saved, kind="subset", layout=...)`."""

    saved_as: ClassVar[str]
    layout: ClassVar[Layout]
    durations: ClassVar[tuple[str, ...]] = ()  # fields with a default that are not written

    def __init_subclass__(cls, *, kind: str, layout: Layout, durations: tuple[str, ...] = ()) -> None:
        super().__init_subclass__()
        cls.saved_as, cls.layout, cls.durations = kind, layout, durations

    def save(self, path: str | Path) -> Path:
        """Write the artefact, whole or not at all.

        Parameters
        ----------
        path
            The file, or the folder for an artefact of several files. Scores and subsets are written as files of about a
            million rows each into an empty folder, or into a new one if the path ends in `/`.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        StoreError
            If nothing can be written there.
        """
        if str(path).endswith("/") and getattr(self.layout, "shard", None):
            try:
                Path(path).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"cannot write {path}: {reason(error)}.") from None
        return self.layout.write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path
            The file or folder.

        Returns
        -------
        Self
            An equal artefact.

        Raises
        ------
        StoreError
            If there is no such file, or it holds something else.
        """
        with expecting(cls.saved_as, path, cls.layout):
            return cls(**cls.layout.read(cls, Path(path)))

    def entries(self) -> dict[str, Any]:
        """Return everything as plain values, with None for NaN and infinity."""
        return entries(self)


class Unexpected(ValueError):
    """Says what was found in a file instead of what was expected."""


@contextmanager
def expecting(kind: str, path: str | Path, layout: Layout | None = None) -> Iterator[None]:
    """Turn any error while reading a file into one sentence: the file, what was expected, what was found."""
    try:
        if isinstance(path, str | Path) and Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise Unexpected("a FIFO, a socket or a device")
        yield
        return
    except StoreError:
        raise
    except FileNotFoundError:
        found = "no such file"
    except Unexpected as error:
        found = str(error)
    except (OSError, LookupError, TypeError, ValueError, NotImplementedError, RecursionError, OverflowError) as error:
        found = f"something else ({reason(error)})"
    named = layout.place(Path(path)) if layout is not None and isinstance(path, str | Path) else path
    raise StoreError(f"expected {kind!r} in {named}; found {found}.") from None


def entries(made: Saved, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the kind and all fields except `without` and durations, as plain values."""
    left_out = {*without, *made.durations}
    fields = {name: plain(getattr(made, name)) for name in fields_of(type(made)) if name not in left_out}
    return {"winnow": made.saved_as, **fields}


def durations_of(made: Any) -> dict[str, Any]:
    """Return the durations of an artefact, which its files do not hold, as plain values."""
    return {name: plain(getattr(made, name)) for name in getattr(made, "durations", ())}


def timed(made: A, durations: Mapping[str, Any]) -> A:
    """Return an artefact that was loaded, with its durations."""
    known = getattr(made, "durations", ())
    found = {name: value for name, value in durations.items() if name in known and value is not None}
    return dataclasses.replace(made, **found) if found else made  # type: ignore[type-var]


def fields_of(kind: type) -> dict[str, Any]:
    """Return the type hint of every field of a dataclass, in order."""
    return _hints(kind)


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def filled(kind: type, given: Any, without: Collection[str] = (), extra: Collection[str] = ()) -> dict[str, Any]:
    """Rebuild the fields of a dataclass from its entries; `without` are read elsewhere, `extra` are not fields.

    The kind of an artefact is compared with the entry `winnow`.
    """
    if not isinstance(given, dict):
        raise Unexpected(f"a {type(given).__name__} where a mapping belongs")
    if issubclass(kind, Saved):
        if given.get("winnow") != kind.saved_as:
            raise Unexpected(repr(given["winnow"]) if "winnow" in given else "nothing that says what it is")
        extra = {"winnow", *extra}
    wanted = {name: hint for name, hint in fields_of(kind).items() if name not in without}
    unknown = sorted(set(given) - set(wanted) - set(extra))
    if unknown:
        raise Unexpected(f"an entry {unknown[0]!r} that this winnow does not know")
    spared = getattr(kind, "durations", ())
    missing = [name for name, hint in wanted.items() if name not in given and name not in spared and not optional(hint)]
    if missing:
        raise Unexpected(f"no entry {missing[0]!r}")
    return {name: _rebuilt(hint, given[name]) for name, hint in wanted.items() if name in given}


def _rebuilt(hint: Any, value: Any) -> Any:
    """Rebuild a value read from JSON by its type hint."""
    if optional(hint):
        inner = [one for one in typing.get_args(hint) if one is not types.NoneType]
        return None if value is None else _rebuilt(inner[0], value) if len(inner) == 1 else value
    if hint is float:
        return math.nan if value is None else value
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint(**filled(hint, value))
    origin, inner = typing.get_origin(hint), list(typing.get_args(hint))
    if origin is tuple:
        if not isinstance(value, list):
            raise Unexpected(f"a {type(value).__name__} where a list belongs")
        if inner[-1] is ...:
            inner = inner[:1] * len(value)
        return tuple(_rebuilt(one, item) for one, item in zip(inner, value, strict=True))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise Unexpected(f"a {type(value).__name__} where a mapping belongs")
        return {name: _rebuilt(inner[1], item) for name, item in value.items()}
    return value


def optional(hint: Any) -> bool:
    """Whether a field of this type may be None."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType) and types.NoneType in typing.get_args(hint)
