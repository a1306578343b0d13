"""Safetensors files larger than memory: written tensor by tensor, and mapped when they are read.

The library that writes such files builds all their bytes first, and the one that reads them copies every tensor. Here a
file is written as it comes, with the same bytes, and a large one is mapped: ten million examples take no memory until
somebody reads them, and then only what is read.

    8 bytes      length of the header
    header       JSON: dtype, shape and place of each tensor, padded with blanks to a multiple of 8
    tensors      one after the other: types with larger numbers first, then by name
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.layouts import Tensors
from ..core.scratch_rows import let_go
from ..core.serialiser import Saved, filled

__all__ = ["MappedTensors", "save_file"]

MAPPED = 64 << 20  # bytes of a file from which its tensors are mapped
BLOCK = 16 << 20  # bytes written at a time
# as the format names them, in the order in which it puts them
NAMES = {
    "uint64": "U64", "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32", "int32": "I32",
    "float16": "F16", "uint16": "U16", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
TYPES = {name: np.dtype(dtype).newbyteorder("<") for dtype, name in NAMES.items()}
RANK = {name: place for place, name in enumerate(NAMES)}


@dataclass(frozen=True)
class MappedTensors(Tensors):
    """One safetensors file, as `Tensors`, whose tensors are mapped if it is large."""

    def _library(self) -> Any:
        return _Writer

    def read(self, kind: type[Saved], path: Path) -> dict[str, Any]:
        """Every field."""
        if not path.is_file() or path.stat().st_size < MAPPED:
            return super().read(kind, path)
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), framework="numpy") as file:  # says whether places fit the file
                about = json.loads((file.metadata() or {})[self.header])
                whole = set(file.keys())
        except SafetensorError as error:
            raise ValueError(*error.args) from None
        tensors = {name: values for name, values in _mapped(path).items() if name in whole}
        out = filled(kind, about, self._inside, (self.ids,))
        ids = tensors.pop(self.ids)
        out[self.ids] = np.array(ids) if about[self.ids] == "i" else np.array(ids.tobytes().decode().split("\n"))
        out |= {name: tensors.pop(name) for name in self.arrays if name in tensors}
        return out | {self.group: tensors}


class _Writer:
    """Stands for the library that writes files."""

    @staticmethod
    def save_file(tensors: Mapping[str, NDArray[Any]], path: Path, header: Mapping[str, str] | None) -> None:
        save_file(tensors, path, header)


def save_file(tensors: Mapping[str, NDArray[Any]], path: Path, header: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file, some megabytes at a time.

    Parameters
    ----------
    tensors
        Arrays in C order, by name.
    path
        The file.
    header
        Text by name, for its header.
    """
    places: dict[str, Any] = {} if header is None else {"__metadata__": dict(header)}
    start = 0
    order = sorted(tensors, key=lambda name: (RANK[tensors[name].dtype.name], name))
    for name in order:
        values = tensors[name]
        end = start + values.nbytes
        places[name] = {"dtype": NAMES[values.dtype.name], "shape": list(values.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(places, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for name in order:
            flat = tensors[name].reshape(-1)
            some = max(1, BLOCK // flat.itemsize)
            for first in range(0, flat.size, some):
                part = flat[first : first + some]
                file.write(part.astype(part.dtype.newbyteorder("<"), copy=False).data)
                let_go(flat)


def _mapped(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file whose header was found to be right."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        places = json.loads(file.read(length))
    out = {}
    for name, place in places.items():
        if name == "__metadata__":
            continue
        dtype, shape, (start, end) = TYPES[place["dtype"]], tuple(place["shape"]), place["data_offsets"]
        if start == end:
            out[name] = np.zeros(shape, dtype)
            continue
        out[name] = np.memmap(path, dtype, mode="r", offset=8 + length + start, shape=shape)
    return out
