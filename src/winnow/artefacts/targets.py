"""Targets: one vector an example, made once by a prior, known by id.

On disk they are a parquet file with the columns `id` and `target` (a fixed number of float32), written and read a block
of rows at a time, so that only the values themselves, n x dim in float32, are ever held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import checks, seeds
from ..core.errors import InputError, StoreError
from ..core.files import atomic, fingerprint
from . import Provenance, Source
from .provenance import plain, record
from .source import positions_of

__all__ = ["ROWS", "Targets", "header", "refuse_zeros"]

ROWS = 4096  # rows in a block: of embeddings, of sums, of the file
OWNER = "this set of targets"


@dataclass(frozen=True, eq=False, repr=False)
class Targets:
    """A target vector for each example.

    Ids are kept sorted, so that the order of the source changes nothing.

    Parameters
    ----------
    ids
        Ids of the examples.
    values
        Their targets, one a row, as float32; no row is the zero vector, which has no direction to pull towards.
    provenance
        Where they came from.
    seconds
        How long making them took, for the ledger.
    """

    ids: NDArray[Any]
    values: NDArray[np.float32]
    provenance: Provenance = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        ids = checks.ids(OWNER, self.ids)
        values = checks.array("values", OWNER, self.values, ndim=2, rows=ids.size, dtype=np.float32)
        checks.number("seconds", OWNER, self.seconds, low=0)
        if not (ids[:-1] <= ids[1:]).all():
            order = np.argsort(ids, kind="stable")
            ids, values = ids[order], values[order]
        refuse_zeros(ids, values)
        object.__setattr__(self, "ids", checks.frozen(ids, copy=False))
        object.__setattr__(self, "values", checks.frozen(values, copy=False))
        object.__setattr__(self, "provenance", plain(self.provenance))

    def __len__(self) -> int:
        return int(self.ids.size)

    def __repr__(self) -> str:
        return f"Targets({len(self)} examples, {self.dim} numbers each)"

    @property
    def dim(self) -> int:
        """Numbers a target has."""
        return int(self.values.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of ids and values."""
        return fingerprint("\n".join(map(str, self.ids.tolist())).encode(), self.values.tobytes())

    def at(self, ids: ArrayLike) -> NDArray[np.float32]:
        """Targets of the examples with these ids, in the order asked for; an unknown id is refused by name."""
        asked = np.atleast_1d(np.asarray(ids))
        if asked.dtype.kind == self.ids.dtype.kind and asked.ndim == 1:
            # Once a step in somebody's loop: `positions_of` would copy all ids each time.
            place = np.searchsorted(self.ids, asked.astype(self.ids.dtype, copy=False))
            place = np.minimum(place, len(self) - 1)
            if (self.ids[place] == asked).all():
                return self.values[place]
        return self.values[positions_of(self.ids, asked, OWNER, order=np.arange(len(self)))]

    def source(self, source: Source) -> Source:
        """The same examples as a regression whose targets are these; every example must have one."""
        if not isinstance(source, Source):
            raise InputError(
                f"source of Targets.source must be a Source (open it with wn.open); got {type(source).__name__}."
            )
        made = source.with_labels(self.at(source.ids), "regression")
        return replace(made, origin={**source.origin, "targets": self.fingerprint})

    def shuffled(self, seed: int = 0) -> Targets:
        """The control: the same targets dealt out among the examples at random.

        Training towards these can only use what the set of targets looks like, not which belongs to which example.
        """
        order = seeds.stream(seed, "shuffled targets").permutation(len(self))
        provenance = record("Targets.shuffled", {"seed": seed}, {"targets": self.provenance})
        return replace(self, values=self.values[order], provenance=provenance)

    def save(self, path: str | Path) -> Path:
        """Write a parquet file with the columns `id` and `target`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        kind = self.ids.dtype.kind
        about = {
            "winnow": "targets",
            "dim": self.dim,
            "ids": kind,
            "seconds": float(self.seconds),
            "provenance": self.provenance,
        }
        name, target = pa.int64() if kind == "i" else pa.string(), pa.list_(pa.float32(), self.dim)
        schema = pa.schema([("id", name), ("target", target)], {"winnow": json.dumps(about, sort_keys=True)})
        with atomic(path) as part, pq.ParquetWriter(part, schema, compression="none", use_dictionary=False) as file:
            for start in range(0, len(self), ROWS):
                ids = pa.array(self.ids[start : start + ROWS].tolist(), type=name)
                rows = pa.array(self.values[start : start + ROWS].reshape(-1))
                file.write_table(pa.table([ids, pa.FixedSizeListArray.from_arrays(rows, self.dim)], schema=schema))
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Targets:
        """Read what `save` wrote, a block of rows at a time."""
        about = header(path)
        with _readable(path) as file:
            values = np.empty((file.metadata.num_rows, int(about["dim"])), dtype=np.float32)
            ids: list[NDArray[Any]] = []
            done = 0
            for batch in file.iter_batches(batch_size=ROWS):
                rows = np.from_dlpack(batch.column("target").flatten()).reshape(len(batch), -1)
                values[done : done + len(batch)] = rows
                done += len(batch)
                kind = np.int64 if about["ids"] == "i" else np.str_
                ids.append(np.array(batch.column("id").to_pylist(), dtype=kind))
            return cls(np.concatenate(ids), values, about["provenance"], about["seconds"])


def refuse_zeros(ids: NDArray[Any], values: NDArray[Any]) -> None:
    """Refuse a target without a direction, by the id of its example."""
    zero = ~values.any(axis=1)
    if zero.any():
        raise InputError(
            f"targets must not be the zero vector, which has no direction; that of example {ids[zero][0]!s} is "
            f"({int(zero.sum())} of {len(values)} here), so leave such examples out or take another prior."
        )


def header(path: str | Path) -> dict[str, Any]:
    """What a file of targets says about itself: dim, kind of ids, provenance, seconds."""
    with _readable(path) as file:
        about: dict[str, Any] = json.loads((file.schema_arrow.metadata or {})[b"winnow"])
        if about.get("winnow") != "targets":
            raise StoreError(f"{path} holds {about.get('winnow')!r}, not targets.")
        return about


@contextmanager
def _readable(path: str | Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        if isinstance(error, StoreError | InputError):
            raise
        reason = str(error).split(". ")[0].rstrip(".") or type(error).__name__
        raise StoreError(f"{path} is not a file of winnow targets: {reason}.") from None
