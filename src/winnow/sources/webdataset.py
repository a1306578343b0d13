"""WebDataset shards: tar files whose members with one name and different endings make one example.

| ending | is |
|---|---|
| `.jpg`, `.png`, `.webp` and other images; else `.npy`; else `.txt` | the input: an image, a vector, a text |
| `.cls`, or the key `label` (or a usual one) of `.json` | the label |

`labels=` names another ending, or another key of the JSON. The id of an example is its name in the shard without the
ending. Members are read from the tar by their place; nothing is ever extracted to a path.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.source import Source
from ..core.errors import DataError, InputError, reason
from ..core.parameter_names import of
from ..core.progress import track
from .arrays import canonical, column_names
from .assembly import OpenRequest, Pieces, assemble
from .column_layout import LABEL_NAMES
from .image_folder import ENDINGS as PICTURES
from .images import ImageForm, Name, decode, first_form
from .memory import Recent, Remembered, Stamp, stamp_of, unchanged
from .npz import UNREADABLE, why_unreadable
from .splits import split_files
from .texts import text_pieces

__all__ = ["ENDINGS", "open_webdataset"]

ENDINGS = (".tar",)
OPEN_FILES = 64
_handles = Recent(OPEN_FILES)
Place = tuple[int, int, int]  # shard, offset, size


@dataclass(frozen=True)
class Members:
    """Members of tar files, one per example.

    Parameters
    ----------
    files
        The shards with their stamps.
    places
        Shard, offset and size of each member.
    names
        Names of the examples.
    """

    files: tuple[tuple[str, Stamp], ...]
    places: tuple[Place, ...]
    names: tuple[str, ...]

    def data(self, position: int) -> bytes:
        """Return the bytes of a member."""
        shard, offset, size = self.places[position]
        path, stamp = self.files[shard]

        def make() -> Any:
            unchanged(path, stamp)
            return Path(path).open("rb")

        handle = _handles.get((path, stamp), make)
        handle.seek(offset)
        found: bytes = handle.read(size)
        if len(found) != size:
            raise DataError(f"{path} is damaged: {self.names[position]} is cut short.")
        return found

    def named(self) -> Iterator[tuple[Name, bytes | Path]]:
        """Yield the name and bytes of every member, in order."""
        for position, name in enumerate(self.names):
            yield name, self.data(position)

    def content(self) -> Iterator[bytes]:
        """Yield the bytes of every member, in order."""
        for position in range(len(self.names)):
            yield self.data(position)


@dataclass(frozen=True)
class TarImages:
    """Reads and decodes images."""

    members: Members
    form: ImageForm

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        out = np.empty((len(positions), *self.form.shape), dtype=np.uint8)
        for place, position in enumerate(positions.tolist()):
            out[place] = decode(self.members.data(position), self.form, self.members.names[position])
        return out


@dataclass(frozen=True)
class TarArrays:
    """Reads npy members; all must have the shape of the first."""

    members: Members
    shape: tuple[int, ...]
    owner: str

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the inputs at these positions."""
        rows = [_array(self.members, position, self.owner) for position in positions.tolist()]
        for position, row in zip(positions.tolist(), rows, strict=True):
            if row.shape != self.shape:
                raise DataError(
                    f"arrays of {self.owner} must have the same shape; {self.members.names[position]} has "
                    f"{row.shape}, the first one {self.shape}."
                )
        return np.stack(rows) if rows else np.empty((0, *self.shape), dtype=np.float32)


@dataclass(frozen=True)
class TarTexts:
    """Reads txt members."""

    members: Members

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the strings at these positions."""
        out = np.empty(len(positions), dtype=object)
        for place, position in enumerate(positions.tolist()):
            out[place] = _string(self.members, position)
        return out


def open_webdataset(path: Path, asked: OpenRequest) -> Source:
    """Make a Source over a tar shard, or over a folder of them."""
    name = asked.named(path)
    owner = f"source {name!r}"
    asked.refuse("columns", "text", of="tar shards")
    shards, split = split_files(path, ENDINGS, asked.split, owner)
    files = tuple((shard, stamp_of(shard)) for shard in shards)
    samples = _samples(files, owner)
    every = {ending for found in samples.values() for ending in found}
    kind = next((ending for ending in (*(word[1:] for word in PICTURES), "npy", "txt") if ending in every), None)
    if kind is None:
        raise DataError(f"{owner} has no images, npy or txt files; its members end in {', '.join(sorted(every)[:4])}.")
    images = {word[1:] for word in PICTURES}
    inputs = _members(files, samples, images if kind in images else {kind}, owner)
    raw, labels = _targets(files, samples, kind, asked, owner)
    origin: dict[str, Any] = {"path": str(path), "input": kind, "labels": labels, **({"split": split} if split else {})}
    found: dict[str, Any] = {
        "adapter": "webdataset",
        "count": len(samples),
        "target": raw,
        "own_ids": np.array(inputs.names, dtype=np.str_),
        "ids_from": "names",
        "origin": origin,
        "content": inputs.content,
    }
    return assemble(asked, name, Pieces(**{**found, **_inputs(inputs, kind, asked, owner)}))


def _inputs(members: Members, kind: str, asked: OpenRequest, owner: str) -> dict[str, Any]:
    count, key = len(members.names), (members.files, kind)
    sizes = repr([(name, place[2]) for name, place in sorted(zip(members.names, members.places, strict=True))])
    if kind == "txt":
        return text_pieces(TarTexts(members), count, owner, key)
    if kind == "npy":
        first = _array(members, 0, owner)
        form = canonical(first[None], owner)[1]
        return {
            "read": TarArrays(members, first.shape, owner),
            "shape": first.shape,
            "kind": form,
            "columns": column_names(first[None], form),
            "seal": sizes,
        }
    picture = first_form(members.named(), owner, asked.size)
    reader = TarImages(members, picture)
    return {
        "read": Remembered(reader, count, picture.shape, (*key, picture)),
        "shape": picture.shape,
        "kind": "image",
        "seal": sizes,
    }


def _samples(files: tuple[tuple[str, Stamp], ...], owner: str) -> dict[str, dict[str, Place]]:
    """The members of each example by ending, in the order of the shards."""
    found: dict[str, dict[str, Place]] = {}
    for shard, (path, _) in enumerate(track(files, f"reading {owner}")):
        mine: set[str] = set()
        try:
            with tarfile.open(path, "r:") as archive:
                for member in archive:
                    if not member.isreg() or Path(member.name).name.startswith("."):
                        continue
                    folder, _, base = member.name.removeprefix("./").rpartition("/")
                    stem, _, ending = base.partition(".")
                    key = f"{folder}/{stem}" if folder else stem
                    if ending.lower() in found.get(key, {}) or (key in found and key not in mine):
                        raise DataError(f"{owner} has more than one example named {key!r}; names must be unique.")
                    mine.add(key)
                    found.setdefault(key, {})[ending.lower()] = (shard, member.offset_data, member.size)
        except (tarfile.TarError, OSError, EOFError) as error:
            raise DataError(f"{path} cannot be read as tar: {reason(error)}.") from None
    if not found:
        raise DataError(f"{owner} has no files in its tar shards.")
    return found


def _members(
    files: tuple[tuple[str, Stamp], ...], samples: dict[str, dict[str, Place]], endings: set[str], owner: str
) -> Members:
    """The members with one of these endings, which every example must have."""
    places = []
    for name, found in samples.items():
        place = next((found[ending] for ending in found if ending in endings), None)
        if place is None:
            raise DataError(
                f"every example of {owner} must have a {' or '.join(sorted(endings)[:3])} file; {name!r} has none."
            )
        places.append(place)
    return Members(files, tuple(places), tuple(samples))


def _targets(
    files: tuple[tuple[str, Stamp], ...],
    samples: dict[str, dict[str, Place]],
    kind: str,
    asked: OpenRequest,
    owner: str,
) -> tuple[NDArray[Any] | None, str | None]:
    """The raw labels, and where they were found."""
    if asked.task == "unlabelled":
        return None, None
    endings = {ending for found in samples.values() for ending in found}
    wanted = asked.label_column
    ending = wanted if wanted in endings else "cls" if wanted is None and "cls" in endings else None
    if ending is not None:
        words = [_string(one, place).strip() for one, place in _all(_members(files, samples, {ending}, owner))]
        return _read_as_numbers(words), ending
    if "json" not in endings:
        if wanted is not None:
            raise InputError(
                f"{of('labels', 'wn.open')} must be an ending or a key of the JSON in {owner}, which has "
                f"{', '.join(sorted(endings))}; got {wanted!r}."
            )
        return None, None
    about = _members(files, samples, {"json"}, owner)
    return _json_labels(about, wanted, owner)


def _json_labels(about: Members, wanted: str | None, owner: str) -> tuple[NDArray[Any] | None, str | None]:
    found: list[Any] = []
    key = wanted
    for members, place in _all(about):
        try:
            value = json.loads(members.data(place))
        except ValueError as error:
            raise DataError(f"{members.names[place]}.json of {owner} cannot be read: {reason(error)}.") from None
        if isinstance(value, dict):
            key = key or next((word for word in value if word.lower() in LABEL_NAMES), None)
            if key is None:
                return None, None
            if key not in value:
                raise DataError(f"{members.names[place]}.json of {owner} has no key {key!r} for the label.")
            value = value[key]
        found.append(value)
    return np.array(found), "json" if key is None else f"json: {key}"


def _all(members: Members) -> Iterator[tuple[Members, int]]:
    return ((members, place) for place in range(len(members.names)))


def _string(members: Members, position: int) -> str:
    try:
        return members.data(position).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{members.names[position]} cannot be read as UTF-8 text: {reason(error)}.") from None


def _read_as_numbers(words: list[str]) -> NDArray[Any]:
    """Class numbers if all words are whole numbers, numbers if all are, strings otherwise."""
    for kind in (int, float):
        try:
            return np.array([kind(word) for word in words])
        except ValueError:
            continue
    return np.array(words, dtype=object)


def _array(members: Members, position: int, owner: str) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.asarray(np.load(io.BytesIO(members.data(position)), allow_pickle=False))
    except UNREADABLE as error:
        where = f"{members.names[position]}.npy of {owner}"
        raise DataError(f"{where} cannot be read: {why_unreadable(error)}.") from None
    row: NDArray[Any] = canonical(found[None], owner)[0][0]
    return row
