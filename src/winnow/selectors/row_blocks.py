"""Rows to choose from, block by block: the arrays of a pool, or the columns of a file of scores, or of several.

Nothing here holds a whole column. A pass names the columns it reads, so that a pass over scores does not read ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..artefacts import Scores
from ..artefacts.task_labels import TASKS
from ..core import checks
from ..core.errors import InputError, NotDefinedError, reason
from ..core.files import file_digest, fingerprint
from ..core.parquet_columns import parquet_header
from ..scores.arithmetic import mean_true_probability, rows_within
from .pool import Pool

__all__ = ["BLOCK", "Block", "PoolRows", "Rows", "ScoresFile"]

BLOCK = 1 << 16  # rows at a time: keys, groups and scores of a block stay in the processor's cache
SHARED = ("name", "task", "classes")  # what the files of a folder have in common
COLUMNS = {"ids": "id", "scores": "score", "labels": "label"}


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows that follow each other: where they start, and the columns asked for."""

    start: int
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    @property
    def place(self) -> slice:
        """The positions of the rows."""
        return slice(self.start, self.start + len(self))

    def at(self, where: NDArray[Any]) -> Block:
        """The block with only these of its rows."""
        return replace(self, columns={name: values[where] for name, values in self.columns.items()})


class Rows(Protocol):
    """What a quota is chosen from."""

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def score_name(self) -> str | None:
        """The name of the score."""

    def blocks(self, names: tuple[str, ...]) -> Iterator[Block]:
        """All rows in order, with these columns: `ids`, `scores`, `labels` or `chances`."""

    def within(self, epochs: int | None, owner: str) -> Rows:
        """The same rows, with `chances` over these first epochs."""


@dataclass(frozen=True, eq=False)
class PoolRows:
    """The rows of a pool, in memory or memory-mapped.

    Parameters
    ----------
    pool
        Sorted by id.
    epochs
        How many recorded epochs `chances`, the mean probabilities of the label, are taken over.
    """

    pool: Pool
    epochs: int = 0

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.pool.n

    @property
    def score_name(self) -> str | None:
        """The name of the score."""
        return self.pool.score_name

    def within(self, epochs: int | None, owner: str) -> PoolRows:
        """The same rows, with `chances` over these first epochs."""
        return replace(self, epochs=rows_within(self.pool.observed, epochs, owner))

    def blocks(self, names: tuple[str, ...]) -> Iterator[Block]:
        """All rows in order, with these columns."""
        pool = self.pool
        for start in range(0, pool.n, BLOCK):
            part = slice(start, min(start + BLOCK, pool.n))
            held = {"ids": pool.ids, "scores": pool.scores, "labels": pool.labels}
            columns = {name: held[name][part] for name in names if name != "chances"}  # type: ignore[index]
            if "chances" in names:
                columns["chances"] = mean_true_probability(pool.observed, self.epochs, part.start, part.stop)
            yield Block(start, columns)


class ScoresFile:
    """The rows of a file that `Scores.save` or another program wrote, read block by block in every pass.

    Parameters
    ----------
    path
        A parquet file with the columns `id`, `score` and, for quotas, `label` (class numbers), and the entries of
        `Scores` in its header; or a folder of such files, one per part of the data, which are read by name.

    Raises
    ------
    InputError
        If a file holds no scores, or a column of another type, or files of a folder do not belong together.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        if not self.files:
            raise InputError(f"scores in {self.path} must be parquet files; the folder holds none.")
        heads = [parquet_header(file, Scores.saved_as) for file in self.files]
        self.about = heads[0]
        for file, head in zip(self.files, heads, strict=True):
            other = next((word for word in SHARED if head.get(word) != self.about.get(word)), None)
            if other is not None:
                raise InputError(
                    f"{other} of the scores in {self.path} must be the same in all files; {file.name} has "
                    f"{head.get(other)!r:.60}, {self.files[0].name} {self.about.get(other)!r:.60}."
                )
        if any(head.get("reliability") != self.about.get("reliability") for head in heads):
            self.about = {**self.about, "reliability": None}  # each part has its own
        self.task = checks.choice("task", f"scores in {self.path}", self.about.get("task", "unlabelled"), TASKS)
        self.classes = tuple(self.about.get("classes", ()))
        self.score_name: str | None = self.about.get("name")
        checked = [self._checked(file) for file in self.files]
        self.n = sum(rows for rows, _, _ in checked)
        self.labelled = checked[0][1]
        for file, (_, labelled, words) in zip(self.files, checked, strict=True):
            if (labelled, words) != checked[0][1:]:
                raise InputError(
                    f"columns of the scores in {self.path} must be the same in all files; those of {file.name} differ "
                    f"from those of {self.files[0].name}."
                )

    def _checked(self, path: Path) -> tuple[int, bool, bool]:
        """The number of rows of a file, whether it has labels, and whether its ids are text."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            rows = file.metadata.num_rows
            types = {one.name: one.type for one in file.schema_arrow}
        labelled = "label" in types and self.task == "classification"
        whole = pa.types.is_integer
        usual = {"id": (whole, pa.types.is_string, pa.types.is_large_string), "score": (pa.types.is_floating,)}
        usual |= {"label": (whole,)} if labelled else {}
        for name, allowed in usual.items():
            if name not in types or not any(one(types[name]) for one in allowed):
                raise InputError(
                    f"column {name!r} of scores in {path} must hold "
                    f"{'numbers' if name == 'score' else 'class numbers' if name == 'label' else 'ids'}; got "
                    f"{types.get(name, 'no such column')}."
                )
        if not rows:
            raise InputError(f"scores in {path} must not be empty.")
        return rows, labelled, not whole(types["id"])

    @property
    def digest(self) -> str:
        """Digest of the file; of a folder, one of those of its files."""
        digests = [file_digest(file) for file in self.files]
        return digests[0] if self.files == [self.path] else fingerprint(digests)

    def within(self, epochs: int | None, owner: str) -> ScoresFile:
        """Raise, since a file of scores holds no probabilities."""
        raise NotDefinedError(
            f"{owner} needs probabilities beside the scores, and {self.path} holds none; pass the signals that the "
            "scores came from as signals=."
        )

    def blocks(self, names: tuple[str, ...]) -> Iterator[Block]:
        """All rows in order, with these columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        start, columns = 0, [COLUMNS[name] for name in names]
        for path in self.files:
            try:
                with pq.ParquetFile(path, pre_buffer=False) as file:  # or arrow would hold every row group at once
                    for batch in file.iter_batches(BLOCK, columns=columns, use_threads=False):
                        found = {name: _numbers(batch.column(COLUMNS[name])) for name in names}
                        self._check(start, found)
                        yield Block(start, found)
                        start += len(batch)
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"scores in {path} cannot be read: {reason(error)}.") from None

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, or their numbers if they have no names; none without labels."""
        if not self.labelled or self.classes:
            return self.classes if self.labelled else ()
        return tuple(map(str, range(1 + max(int(block["labels"].max()) for block in self.blocks(("labels",))))))

    def taken(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of the flagged rows, and how many of them each class has."""
        counts = np.zeros(len(self.class_names), dtype=np.int64)
        ids = []
        for block in self.blocks(("ids", "labels") if self.labelled else ("ids",)):
            where = chosen[block.place]
            ids.append(block["ids"][where])
            if self.labelled:
                counts += np.bincount(block["labels"][where], minlength=counts.size)
        return np.concatenate(ids), counts

    def _check(self, start: int, found: Mapping[str, NDArray[Any]]) -> None:
        owner = f"scores in {self.path}"
        if "scores" in found:
            checks.finite("values", owner, found["scores"])
        if "labels" in found:
            low, high = int(found["labels"].min()), int(found["labels"].max())
            if low < 0 or (self.classes and high >= len(self.classes)):
                raise InputError(
                    f"labels of {owner} must be class numbers from 0 to {len(self.classes) - 1}; got "
                    f"{low if low < 0 else high} within the {len(found['labels'])} rows from row {start}."
                )


def _numbers(column: Any) -> NDArray[Any]:
    """A column as an array; missing values raise."""
    if column.null_count:
        raise InputError("a file of scores must have no missing values.")
    if str(column.type) in ("string", "large_string"):
        return np.array(column.to_pylist(), dtype=np.str_)
    return np.from_dlpack(column)
