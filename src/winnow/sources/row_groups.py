"""Rows of parquet files by position, without reading a file to open it or a row group twice to read a batch.

Binary search over the cumulative row counts finds the row group of a position. Each call reads every row group it needs
once, and the most recently used ones are cached (`KEPT` bytes in all), so that a pass in any order over row groups that
fit costs one read of the file. If they do not fit, rows that are asked for in their order are those of a pass, which
does not come back to the row groups behind it, and these are not kept. A row group larger than half of that is streamed
instead of cached: memory stays bounded, and each call costs one pass over that row group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError, reason
from ..core.remote import is_url, remote_file
from .memory import Recent, Stamp, stamp_of, unchanged

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["Shards", "forget_groups", "opened", "shards_of"]

KEPT = 256 << 20  # bytes of recently used row groups
OPEN_FILES = 64
STREAMED = 8192  # rows at a time
PASS = 64  # rows in their order by which a pass is known
_groups = Recent(KEPT)
_handles = Recent(OPEN_FILES)


def forget_groups() -> None:
    """Give back the memory of row groups that were read: after a pass over everything, the last ones are of no use."""
    import pyarrow as pa

    _groups.clear()
    pa.default_memory_pool().release_unused()


def opened(path: str, stamp: Stamp) -> pq.ParquetFile:
    """Open the file, once per process."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def make() -> pq.ParquetFile:
        unchanged(path, stamp)
        try:
            if is_url(path):
                return pq.ParquetFile(remote_file(path), pre_buffer=True)
            return pq.ParquetFile(path, buffer_size=1 << 20)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read as parquet: {reason(error)}.") from None

    return _handles.get((path, stamp), make)


@dataclass(frozen=True, eq=False)
class Shards:
    """Some columns of one or more parquet files, concatenated.

    Parameters
    ----------
    files
        Paths with their stamps.
    columns
        The columns to read.
    starts
        First row of each row group, over all files, and finally the number of rows.
    file_of, index_of, bytes_of
        For each row group: its file, its number there, its size in memory.
    """

    files: tuple[tuple[str, Stamp], ...]
    columns: tuple[str, ...]
    starts: NDArray[np.int64]
    file_of: NDArray[np.int64]
    index_of: NDArray[np.int64]
    bytes_of: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def pieces(self, positions: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
        """Yield tables of the requested rows, each with the indices in `positions` that its rows belong to."""
        groups = np.searchsorted(self.starts, positions, side="right") - 1
        order = np.argsort(groups, kind="stable")
        needed, first = np.unique(groups[order], return_index=True)
        passing = _of_a_pass(positions)
        for group, where in zip(needed.tolist(), np.split(order, first[1:]), strict=True):
            local = positions[where] - self.starts[group]
            if self.bytes_of[group] > KEPT // 2:
                yield from self._streamed(group, local, where)
            else:
                held = self._held(group)
                if passing and held.nbytes * self.bytes_of.size > KEPT:
                    _groups.keep_only(self._key(group))
                yield where, _guarded(self._path(group), held.take, local)

    def nulls(self, column: str) -> int:
        """The number of missing values of a column, as far as the footers say."""
        total = 0
        for file in self.files:
            handle = opened(*file)
            metadata = handle.metadata
            places = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
            if column not in places:
                continue
            for group in range(metadata.num_row_groups):
                if not is_url(file[0]):  # arrow ends the process if it meets a damaged footer here, but not if it reads
                    _guarded(file[0], next, handle.iter_batches(1, row_groups=[group], columns=[column]), None)
                found = metadata.row_group(group).column(places[column]).statistics
                total += found.null_count if found is not None and found.has_null_count else 0
        return total

    def stream(self) -> Iterator[pa.Table]:
        """Yield all rows in order, a few thousand at a time."""
        for group in range(self.file_of.size):
            yield from self._batches(group)

    def _held(self, group: int) -> pa.Table:
        file, index = self.files[self.file_of[group]], int(self.index_of[group])

        def make() -> pa.Table:
            # Chunks are joined because `take` on a chunked column searches for each row separately.
            return _guarded(
                file[0],
                lambda: (
                    opened(*file).read_row_group(index, columns=list(self.columns), use_threads=False).combine_chunks()
                ),
            )

        return _groups.get(self._key(group), make)

    def _key(self, group: int) -> tuple[object, ...]:
        return self.files[self.file_of[group]], int(self.index_of[group]), self.columns

    def _batches(self, group: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        file, index = self.files[self.file_of[group]], int(self.index_of[group])
        try:
            for batch in opened(*file).iter_batches(
                STREAMED, row_groups=[index], columns=list(self.columns), use_threads=False
            ):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as error:
            raise _damaged(file[0], error) from None

    def _streamed(
        self, group: int, local: NDArray[np.int64], where: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
        start = 0
        for table in self._batches(group):
            inside = (local >= start) & (local < start + table.num_rows)
            if inside.any():
                yield where[inside], table.take(local[inside] - start)
            start += table.num_rows

    def _path(self, group: int) -> str:
        return str(self.files[self.file_of[group]][0])

    def named(self, position: int) -> str:
        """Return a readable name of one row."""
        group = int(np.searchsorted(self.starts, position, side="right") - 1)
        file = int(self.file_of[group])
        before = int(self.starts[int(np.searchsorted(self.file_of, file))])
        return f"{self.files[file][0]} row {position - before}"


def _of_a_pass(positions: NDArray[np.int64]) -> bool:
    """Whether rows are asked for one after the other, with few left out."""
    if positions.size < PASS or positions[-1] - positions[0] >= 2 * positions.size:
        return False
    return bool((positions[1:] > positions[:-1]).all())


def _guarded(path: str, work: Any, *arguments: Any) -> pa.Table:
    import pyarrow as pa

    try:
        return work(*arguments)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> DataError:
    return DataError(f"{path} is damaged and cannot be read: {reason(error)}.")


def shards_of(paths: Sequence[str], columns: Sequence[str]) -> Shards:
    """Describe the rows of these files, from their footers alone."""
    files = tuple((path, stamp_of(path)) for path in paths)
    rows, sizes, file_of, index_of = [], [], [], []
    for number, file in enumerate(files):
        metadata = opened(*file).metadata
        for index in range(metadata.num_row_groups):
            group = metadata.row_group(index)
            if group.num_rows:
                rows.append(group.num_rows)
                sizes.append(group.total_byte_size)
                file_of.append(number)
                index_of.append(index)
    starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)]).astype(np.int64)
    return Shards(
        files,
        tuple(columns),
        starts,
        np.array(file_of, dtype=np.int64),
        np.array(index_of, dtype=np.int64),
        np.array(sizes, dtype=np.int64),
    )
